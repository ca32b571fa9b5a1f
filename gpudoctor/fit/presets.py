"""The models that can be named, with where their shapes are published, and those that are stated by their number of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.asked import count
from gpudoctor.fit.counted import Network, Sample
from gpudoctor.fit.hub import of_config
from gpudoctor.fit.layers import Conv, Pool, PoolTo, Rows
from gpudoctor.fit.model import Model
from gpudoctor.fit.networks import RELU, dense, diffusion, resnet, unet, vgg
from gpudoctor.nearest import suggestion

_TORCHVISION = "https://github.com/pytorch/vision/blob/main/torchvision/models/{}.py"
_HUB = "https://huggingface.co/{}/blob/main/config.json"
_HEAD = 128
_ASPECT = 128
"""The width of a transformer for each of its layers, about that of Llama 7B (4096 to 32) and GPT-3 (12288 to 96)."""
_VOCABULARY = 32000
_APART = 1.5
"""How many times as many parameters a stated shape may have as are stated, since its vocabulary is not."""
_FIELDS = ("params", "layers", "width")


def model(name: str, sample: Sample) -> Model:
    """Return what is known of a preset for samples of this size. Raises UsageError for an unknown name or a size that does not fit."""
    on_hub = re.fullmatch(r"[\w.-]+/[\w.-]+", name)
    of_source = (key for key, one in PRESETS.items() if on_hub and f"/{name}/".casefold() in one().source.casefold())
    wanted = next(of_source, name.casefold())
    if wanted not in PRESETS:
        otherwise = "download its config.json and name that." if on_hub else "gpudoctor fit --help says what MODEL can be."
        raise UsageError(f"There is no model {name!r}; {suggestion(name, PRESETS, otherwise)}")
    return PRESETS[wanted]().model(wanted, sample)


def of_parameters(text: str, sample: Sample) -> Model:
    """Return a transformer such as Llama with so many parameters: "params=7e9,layers=32". Raises UsageError for what is no size."""
    parts = [part.partition("=") for part in text.lower().split(",")]
    given = {field: value for field, _, value in parts}
    if len(given) < len(parts):
        raise UsageError(f"{text} states a field twice; write it as in params=7e9,layers=32,width=4096.")
    if unknown := given.keys() - {*_FIELDS}:
        raise UsageError(f"MODEL has no field {min(unknown)!r}; write it as in params=7e9,layers=32,width=4096.")
    parameters = count(given.pop("params", ""), "params")
    sizes = {field: count(value, field) for field, value in given.items()}
    layers = sizes.get("layers") or max(1, round((parameters / (12 * _ASPECT**2)) ** (1 / 3)))
    width = sizes.get("width") or max(8, round(math.sqrt(parameters / (12 * layers)) / 8) * 8)
    shape = _llama(layers, width, max(1, width // _HEAD), round(width * 8 / 3), _VOCABULARY)
    found = of_config(text, {**shape, "head_dim": min(_HEAD, width)}, "").model(text, sample)
    if len(sizes) == len(_FIELDS) - 1 and found.parameters > _APART * parameters:
        raise UsageError(
            f"{layers} layers of width {width} have {found.parameters:,} parameters, not {parameters:,}; leave out one of them."
        )
    flops = ("forward_flops", "step_flops", "block_flops")
    scaled = {field: round(getattr(found, field) * parameters / found.parameters) for field in flops}
    return msgspec.structs.replace(
        found,
        **scaled,
        parameters=parameters,
        trainable=parameters,
        largest_block=min(found.largest_block, parameters),
        assumptions=(f"Assumed: a transformer such as Llama, {layers} layers of width {width}, a vocabulary of {_VOCABULARY}.",),
    )


def _transformer(kind: str, *sizes: int, **fields: Any) -> dict[str, Any]:
    """Return a configuration; sizes are its layers, width, heads, inner width and vocabulary."""
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
    return {"model_type": kind, **dict(zip(names, sizes, strict=False)), **fields}


_llama = partial(_transformer, "llama")
_llama_3 = partial(_llama, vocab_size=128256, num_key_value_heads=8)


def _published(of: str, fields: dict[str, Any]) -> Callable[[], Network]:
    return lambda: of_config(of, fields, of if of.startswith("https") else _HUB.format(of))


def _image(rows: Callable[[], Rows], source: str, *shape: int, fixed: bool = False) -> Callable[[], Network]:
    return lambda: Network(rows(), shape or (3, 224, 224), source, fixed=fixed)


_LENET: Rows = (Conv(6, 5, padding=2), RELU, Pool(2, 2), Conv(16, 5), RELU, Pool(2, 2), *dense(120, 84, 10))
_ALEXNET: Rows = (
    *(Conv(64, 11, 4, 2), RELU, Pool(3, 2)),
    *(Conv(192, 5, padding=2), RELU, Pool(3, 2)),
    *(Conv(384, 3, padding=1), RELU, Conv(256, 3, padding=1), RELU, Conv(256, 3, padding=1), RELU, Pool(3, 2)),
    *(PoolTo(6), *dense(4096, 4096, 1000)),
)

PRESETS: dict[str, Callable[[], Network]] = {
    "784-128-10": _image(lambda: dense(128, 10), "https://www.tensorflow.org/tutorials/keras/classification", 1, 28, 28, fixed=True),
    "lenet": _image(lambda: _LENET, "https://d2l.ai/chapter_convolutional-neural-networks/lenet.html", 1, 28, 28, fixed=True),
    "alexnet": _image(lambda: _ALEXNET, _TORCHVISION.format("alexnet")),
    "vgg16": _image(lambda: vgg((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), _TORCHVISION.format("vgg")),
    "resnet50": _image(lambda: resnet((3, 64), (4, 128), (6, 256), (3, 512)), _TORCHVISION.format("resnet")),
    "unet": _image(lambda: unet(64, 128, 256, 512, 1024, classes=2), "https://github.com/milesial/Pytorch-UNet", 3, 512, 512),
    "vit-b": _published(_TORCHVISION.format("vision_transformer"), _transformer("vit", 12, 768, 12, 3072, num_labels=1000)),
    "bert-base": _published("google-bert/bert-base-uncased", _transformer("bert", 12, 768, 12, 3072, 30522)),
    "gpt2": _published("openai-community/gpt2", _transformer("gpt2", 12, 768, 12, 3072, 50257)),
    "llama-1b": _published("meta-llama/Llama-3.2-1B", _llama_3(16, 2048, 32, 8192, tie_word_embeddings=True)),
    "llama-3b": _published("meta-llama/Llama-3.2-3B", _llama_3(28, 3072, 24, 8192, tie_word_embeddings=True)),
    "llama-7b": _published("meta-llama/Llama-2-7b-hf", _llama(32, 4096, 32, 11008, 32000)),
    "llama-8b": _published("meta-llama/Llama-3.1-8B", _llama_3(32, 4096, 32, 14336)),
    "llama-13b": _published("meta-llama/Llama-2-13b-hf", _llama(40, 5120, 40, 13824, 32000)),
    "llama-33b": _published("huggyllama/llama-30b", _llama(60, 6656, 52, 17920, 32000)),
    "llama-70b": _published("meta-llama/Llama-3.1-70B", _llama_3(80, 8192, 64, 28672)),
    "stable-diffusion": _image(
        lambda: diffusion((320, 640, 1280, 1280), 8, (77, 768)),
        "https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/blob/main/unet/config.json",
        *(4, 64, 64),
        fixed=True,
    ),
}
