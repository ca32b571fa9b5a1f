"""The models that can be named, as rows of layers, with the sample that each takes and where its shape is published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Sample, counted
from gpudoctor.fit.layers import Conv, Pool, PoolTo, Rows
from gpudoctor.fit.model import Model
from gpudoctor.fit.networks import RELU, Transformer, dense, diffusion, resnet, unet, vgg
from gpudoctor.nearest import suggestion

USUAL_TOKENS = 2048
"""In a sequence, for models that take any number."""
_TORCHVISION = "https://github.com/pytorch/vision/blob/main/torchvision/models/{}.py"
_HUB = "https://huggingface.co/{}/blob/main/config.json"


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """A model by name."""

    rows: Callable[[], Rows]
    sample: tuple[int, ...]
    """Channels, height and width of an image, or how many tokens."""
    source: str
    fixed: bool = False
    """Whether it takes samples of this size only."""
    tokens: int = 0
    """The most tokens; 0: any number."""


def model(name: str, sample: Sample) -> Model:
    """Return what is known of a preset for samples of this size. Raises UsageError for an unknown name or a size that does not fit."""
    preset = PRESETS.get(name.casefold())
    if preset is None:
        raise UsageError(f"There is no model {name!r}; {suggestion(name, PRESETS, 'gpudoctor fit --help says what MODEL can be.')}")
    shape = sample.shape(preset.sample, name, fixed=preset.fixed, most=preset.tokens)
    return counted(name.casefold(), preset.rows(), shape, source=preset.source)


def _image(rows: Callable[[], Rows], source: str, *shape: int, fixed: bool = False) -> Preset:
    return Preset(rows=rows, sample=shape or (3, 224, 224), source=source, fixed=fixed)


def _llama(of: str, *, layers: int, width: int, heads: int, inner: int, entries: int, of_keys: int = 0, tied: bool = False) -> Preset:
    shape = Transformer(
        layers=layers, width=width, heads=heads, inner=inner, of_keys=of_keys, entries=entries, tied=tied, function="silu", bias=False
    )
    return Preset(rows=shape.decoder, sample=(USUAL_TOKENS,), source=_HUB.format(of))


_BASE = Transformer(layers=12, width=768, heads=12, inner=3072)
_BERT = msgspec.structs.replace(_BASE, entries=30522, places=512)
_GPT2 = msgspec.structs.replace(_BASE, entries=50257, places=1024, tied=True, function="gelu_new")
_llama_2 = partial(_llama, entries=32000)
_llama_3 = partial(_llama, entries=128256, of_keys=8)

_LENET: Rows = (Conv(6, 5, padding=2), RELU, Pool(2, 2), Conv(16, 5), RELU, Pool(2, 2), *dense(120, 84, 10))
_ALEXNET: Rows = (
    *(Conv(64, 11, 4, 2), RELU, Pool(3, 2)),
    *(Conv(192, 5, padding=2), RELU, Pool(3, 2)),
    *(Conv(384, 3, padding=1), RELU, Conv(256, 3, padding=1), RELU, Conv(256, 3, padding=1), RELU, Pool(3, 2)),
    *(PoolTo(6), *dense(4096, 4096, 1000)),
)

PRESETS: dict[str, Preset] = {
    "784-128-10": _image(lambda: dense(128, 10), "https://www.tensorflow.org/tutorials/keras/classification", 1, 28, 28, fixed=True),
    "lenet": _image(lambda: _LENET, "https://d2l.ai/chapter_convolutional-neural-networks/lenet.html", 1, 28, 28, fixed=True),
    "alexnet": _image(lambda: _ALEXNET, _TORCHVISION.format("alexnet")),
    "vgg16": _image(lambda: vgg((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), _TORCHVISION.format("vgg")),
    "resnet50": _image(lambda: resnet((3, 64), (4, 128), (6, 256), (3, 512)), _TORCHVISION.format("resnet")),
    "unet": _image(lambda: unet(64, 128, 256, 512, 1024, classes=2), "https://github.com/milesial/Pytorch-UNet", 3, 512, 512),
    "vit-b": _image(_BASE.vision, _TORCHVISION.format("vision_transformer"), fixed=True),
    "bert-base": Preset(rows=_BERT.encoder, sample=(512,), source=_HUB.format("google-bert/bert-base-uncased"), tokens=512),
    "gpt2": Preset(rows=_GPT2.older_decoder, sample=(1024,), source=_HUB.format("openai-community/gpt2"), tokens=1024),
    "llama-1b": _llama_3("meta-llama/Llama-3.2-1B", layers=16, width=2048, heads=32, inner=8192, tied=True),
    "llama-3b": _llama_3("meta-llama/Llama-3.2-3B", layers=28, width=3072, heads=24, inner=8192, tied=True),
    "llama-7b": _llama_2("meta-llama/Llama-2-7b-hf", layers=32, width=4096, heads=32, inner=11008),
    "llama-8b": _llama_3("meta-llama/Llama-3.1-8B", layers=32, width=4096, heads=32, inner=14336),
    "llama-13b": _llama_2("meta-llama/Llama-2-13b-hf", layers=40, width=5120, heads=40, inner=13824),
    "llama-33b": _llama("huggyllama/llama-30b", entries=32000, layers=60, width=6656, heads=52, inner=17920),
    "llama-70b": _llama_3("meta-llama/Llama-3.1-70B", layers=80, width=8192, heads=64, inner=28672),
    "stable-diffusion": _image(
        lambda: diffusion((320, 640, 1280, 1280), 8, (77, 768)),
        "https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/blob/main/unet/config.json",
        *(4, 64, 64),
        fixed=True,
    ),
}
