"""Models known by sizes alone: how many parameters, or the shapes of their weights."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Sample, counted
from gpudoctor.fit.model import Model, Projection
from gpudoctor.fit.networks import Transformer
from gpudoctor.fit.presets import MOST_LAYERS, USUAL_TOKENS

_MOST = 10**15
_HEAD = 128
_ASPECT = 128
"""The width of a transformer for each of its layers, about that of Llama 7B (4096 to 32) and GPT-3 (12288 to 96)."""
_VOCABULARY = 32000
_FIELDS = ("params", "layers", "width")


def of_parameters(text: str, sample: Sample) -> Model:
    """Return a transformer such as Llama with so many parameters: "params=7e9,layers=32". Raises UsageError for what is no size."""
    given = {field: value for field, _, value in (part.partition("=") for part in text.lower().split(","))}
    if unknown := given.keys() - {*_FIELDS}:
        raise UsageError(f"MODEL has no field {min(unknown)!r}; write it as in params=7e9,layers=32,width=4096.")
    parameters = _number(given.get("params", ""), "params")
    usual = (parameters / (12 * _ASPECT**2)) ** (1 / 3)
    layers = _number(given["layers"], "layers") if "layers" in given else max(1, round(usual))
    width = _number(given["width"], "width") if "width" in given else max(8, round(math.sqrt(parameters / (12 * layers)) / 8) * 8)
    if layers > MOST_LAYERS or width > 1 << 20:
        raise UsageError(f"A transformer of {layers:,} layers of width {width:,} is too large to count.")
    shape = Transformer(
        layers=layers,
        width=width,
        heads=max(1, width // _HEAD),
        inner=round(width * 8 / 3),
        size=min(_HEAD, width),
        entries=_VOCABULARY,
        function="silu",
        bias=False,
    )
    model = counted(text, shape.decoder(), sample.shape((USUAL_TOKENS,), text))
    assumed = f"Assumed: a transformer such as Llama, {layers} layers of width {width}, a vocabulary of {_VOCABULARY}."
    scale = parameters / model.parameters
    return msgspec.structs.replace(
        model,
        parameters=parameters,
        trainable=parameters,
        largest_block=min(model.largest_block, parameters),
        forward_flops=round((model.forward_flops or 0) * scale),
        step_flops=round((model.step_flops or 0) * scale),
        block_flops=round(model.block_flops * scale),
        assumptions=(assumed,),
    )


def _number(text: str, field: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _MOST:
        raise UsageError(f"{field}={text} is not a size; write it as in params=7e9,layers=32.")
    return round(value)


def of_weights(name: str, header: Mapping[str, Any]) -> Model:
    """Return what the header of a .safetensors file says: parameters, and nothing about activations. Raises UsageError if it is none."""
    matrices: Counter[tuple[int, int, bool]] = Counter()
    parameters = buffers = 0
    for tensor, entry in header.items():
        if tensor == "__metadata__":
            continue
        shape = entry.get("shape") if isinstance(entry, dict) else None
        if not isinstance(shape, list) or not all(isinstance(side, int) and 0 <= side <= _MOST for side in shape):
            raise UsageError(f"{name} is not a .safetensors file: a tensor in its header has no shape.")
        size = math.prod(shape)
        if str(entry.get("dtype", "")).startswith(("I", "U", "BOOL")) or tensor.endswith(("running_mean", "running_var")):
            buffers += 4 * size
            continue
        parameters += size
        if len(shape) == 2:
            matrices[shape[1], shape[0], bool(re.search(r"\.\d+\.", tensor))] += 1
    if not 1 <= parameters <= _MOST:
        raise UsageError(f"{name} states {parameters:,} weights; no model has that many.")
    return Model(
        name=name,
        sample="",
        way="formula",
        parameters=parameters,
        trainable=parameters,
        buffers=buffers,
        projections=tuple(Projection(rows, columns, count, adapted) for (rows, columns, adapted), count in matrices.items()),
        full=None,
        half=None,
        source="its header",
        assumptions=("The file has the shapes of weights, not of activations; put its config.json beside it.",),
    )
