"""Says how many parameters models of transformers have, without allocating them: a class and a configuration a line of JSON in, a number or a reason a line out."""

import json
import sys

import torch
import transformers  # type: ignore[import-not-found, unused-ignore]

for line in sys.stdin:
    asked = json.loads(line)
    fields = dict(asked["config"])
    try:
        config = transformers.CONFIG_MAPPING[fields.pop("model_type")](**fields)
        with torch.device("meta"):
            model = getattr(transformers, asked["class"])(config)
        print(json.dumps({"parameters": sum(parameter.numel() for parameter in model.parameters())}), flush=True)
    except Exception as error:  # noqa: BLE001 -- whatever a class raises for sizes that do not go together
        print(json.dumps({"refused": f"{type(error).__name__}: {error}"}), flush=True)
