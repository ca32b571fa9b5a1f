"""Builds the model of a Hugging Face config.json with the target's transformers, from its shapes alone. None of the file's code is run."""

import inspect
import json
import sys

USUAL_TOKENS = 2048
MOST = ("max_target_positions", "max_position_embeddings")
"""The most tokens, by the name in a configuration."""
SIZES = ("layers", "size", "heads", "dim")
"""The ends of names of fields that state how large a model is."""
IGNORED = ("quantization_config", "torch_dtype", "dtype", "auto_map")
"""What weights are stored in, and the file's own code."""


def builder(path, seq, refused):
    """A function that returns the model and example inputs for one sample."""
    try:
        import transformers
    except ImportError:
        raise refused(
            "is built by transformers, which {} does not have: name an environment that does with --python".format(sys.executable)
        ) from None
    with open(path, encoding="utf-8") as file:
        fields = {name: value for name, value in json.load(file).items() if name not in IGNORED}
    kind = str(fields.pop("model_type", ""))
    if kind not in transformers.CONFIG_MAPPING:
        raise refused("is of kind {!r}, which transformers {} does not know either".format(kind[:40], transformers.__version__))
    config = transformers.AutoConfig.for_model(kind, **fields)
    text_of(config).use_cache = False
    negative = [name for name, value in fields.items() if name.endswith(SIZES) and isinstance(value, int) and value < 0]
    if negative:  # which some classes take for none
        raise refused("states {} for {}".format(fields[negative[0]], negative[0][:40]))
    architectures = fields.get("architectures")
    named = str(architectures[0]) if architectures and isinstance(architectures, list) else ""
    made = getattr(transformers, named, None) if named else None
    if named and made is None:
        raise refused("names the class {}, which transformers {} does not have".format(named[:80], transformers.__version__))

    def build():
        if made:
            model = made(config)
        else:
            causal = type(config) in transformers.AutoModelForCausalLM._model_mapping  # noqa: SLF001 -- there is no other way to ask
            model = (transformers.AutoModelForCausalLM if causal else transformers.AutoModel).from_config(config)
        if any(name.startswith("causal_conv1d") for name in dir(sys.modules[type(model).__module__])):
            raise refused("is of kind {!r}, which transformers computes token by token without a GPU: that cannot be traced".format(kind))
        return model, dict(inputs(model, config, seq))

    return build


def text_of(config):
    """The part of a configuration that is about text, or all of it."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def inputs(model, config, seq):
    """The names and values of what its forward pass takes: text alone of a model that writes it, of all others whatever else they take."""
    import torch

    taken = set(inspect.signature(model.forward).parameters)
    text = text_of(config)
    most = next((size for size in (getattr(text, name, None) for name in MOST) if size), USUAL_TOKENS)
    tokens = torch.zeros(1, seq or min(USUAL_TOKENS, most), dtype=torch.long)
    wanted = {model.main_input_name} | ({"pixel_values"} & taken if not model.can_generate() else set())
    if getattr(config, "is_encoder_decoder", False):
        wanted.add("decoder_input_ids")
    for name in sorted(wanted):
        if name.endswith("input_ids"):
            yield name, tokens
        elif name == "pixel_values":
            vision = getattr(config, "vision_config", config)
            side = getattr(vision, "image_size", None) or 224
            height, width = side if isinstance(side, (list, tuple)) else (side, side)
            yield name, torch.zeros(1, getattr(vision, "num_channels", 3), height, width)
        elif name == "input_features":
            yield name, torch.zeros(1, getattr(config, "num_mel_bins", 80), 2 * getattr(config, "max_source_positions", 1500))
        else:
            yield name, torch.zeros(1, 16000)  # a second of sound
