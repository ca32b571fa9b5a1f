"""The models that can be named, with where their shapes are published, and those that are stated by their number of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.asked import count
from gpudoctor.fit.counted import Network, Sample
from gpudoctor.fit.hub import TABLE, of_config
from gpudoctor.fit.layers import Rows
from gpudoctor.fit.model import Model
from gpudoctor.fit.networks import alexnet, dense, diffusion, lenet, resnet, unet, vgg
from gpudoctor.nearest import suggestion

_TORCHVISION = "https://github.com/pytorch/vision/blob/main/torchvision/models/{}.py"
_HEAD = 128
_ASPECT = 128
"""The width of a transformer for each of its layers, about that of Llama 7B (4096 to 32) and GPT-3 (12288 to 96)."""
_APART = 1.5
"""How many times as many parameters a stated shape may have as are stated, since its vocabulary is not."""
_FIELDS = ("params", "layers", "width")


def model(name: str, sample: Sample) -> Model:
    """Return what is known of a preset, or of "params=7e9", for samples of this size. Raises UsageError for what is neither, or does not fit."""
    if "params=" in name.lower():
        return _of_parameters(name, sample)
    on_hub = re.fullmatch(r"[\w.-]+/[\w.-]+", name)
    of_source = (key for key, one in PRESETS.items() if on_hub and f"/{name}/".casefold() in one().source.casefold())
    wanted = next(of_source, name.casefold())
    if wanted not in PRESETS:
        otherwise = "download its config.json and name that." if on_hub else "gpudoctor fit --help says what MODEL can be."
        raise UsageError(f"There is no model {name!r}; {suggestion(name, PRESETS, otherwise)}")
    return PRESETS[wanted]().model(wanted, sample)


def _of_parameters(text: str, sample: Sample) -> Model:
    """Return a transformer such as Llama with so many parameters: "params=7e9,layers=32,width=4096"."""
    parts = [part.partition("=") for part in text.lower().split(",")]
    sizes = {field: count(value, field) for field, _, value in parts if field in _FIELDS}
    if len(sizes) < len(parts) or "params" not in sizes:
        raise UsageError(f"{text}: state each of params, layers and width once, as in params=7e9,layers=32,width=4096.")
    parameters = sizes["params"]
    layers = sizes.get("layers") or max(1, round((parameters / (12 * _ASPECT**2)) ** (1 / 3)))
    width = sizes.get("width") or max(8, round(math.sqrt(parameters / (12 * layers)) / 8) * 8)
    shape = {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": max(1, width // _HEAD),
        "head_dim": min(_HEAD, width),
        "intermediate_size": round(width * 8 / 3),
    }
    found = of_config(text, {"model_type": "llama", **shape}, "").model(text, sample)
    if len(sizes) == len(_FIELDS) and found.parameters > _APART * parameters:
        raise UsageError(
            f"{layers} layers of width {width} have {found.parameters:,} parameters, not {parameters:,}; leave out one of them."
        )
    flops = ("forward_flops", "step_flops", "block_flops")
    return msgspec.structs.replace(
        found,
        **{field: round(getattr(found, field) * parameters / found.parameters) for field in flops},
        parameters=parameters,
        trainable=parameters,
        largest_block=min(found.largest_block, parameters),
        assumptions=(f"Assumed: a transformer such as Llama, {layers} layers of width {width}, a vocabulary of 32000.",),
    )


def _image(rows: Callable[[], Rows], source: str, *shape: int, fixed: bool = False) -> Callable[[], Network]:
    return lambda: Network(rows(), shape or (3, 224, 224), source, fixed=fixed)


PRESETS: dict[str, Callable[[], Network]] = {
    "784-128-10": _image(partial(dense, 128, 10), "https://www.tensorflow.org/tutorials/keras/classification", 1, 28, 28, fixed=True),
    "lenet": _image(lenet, "https://d2l.ai/chapter_convolutional-neural-networks/lenet.html", 1, 28, 28, fixed=True),
    "alexnet": _image(alexnet, _TORCHVISION.format("alexnet")),
    "vgg16": _image(partial(vgg, (2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), _TORCHVISION.format("vgg")),
    "resnet50": _image(partial(resnet, (3, 64), (4, 128), (6, 256), (3, 512)), _TORCHVISION.format("resnet")),
    "unet": _image(partial(unet, 64, 128, 256, 512, 1024, classes=2), "https://github.com/milesial/Pytorch-UNet", 3, 512, 512),
    **{name: partial(of_config, name, fields, fields["source"]) for name, fields in TABLE.presets.items()},
    "stable-diffusion": _image(
        partial(diffusion, (320, 640, 1280, 1280), 8, (77, 768)),
        "https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/blob/main/unet/config.json",
        *(4, 64, 64),
        fixed=True,
    ),
}
