"""One function a layer kind: what it adds to parameters and FLOPs, and which of its tensors PyTorch saves for backward.

A network is a tuple of rows. A tensor is kept once, whether the layer that makes it needs it or one that reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, Concatenate, NamedTuple, ParamSpec

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.tally import INDEX, Tally, Tensor

_Sizes = ParamSpec("_Sizes")
_STATISTICS = 8
"""Bytes of a mean and a deviation, in FP32."""


class Kept(NamedTuple):
    """What the backward of an elementwise function needs: its input, its output, and how many other results of the same size."""

    input: bool = False
    output: bool = False
    others: int = 0
    wide: int = 0
    """How many of them are in FP32 under autocast, as are then the input and what it returns."""


FUNCTIONS = {
    **dict.fromkeys(("relu", "tanh", "sigmoid", "softmax"), Kept(output=True)),
    **dict.fromkeys(("gelu", "silu", "elu", "leaky_relu"), Kept(input=True)),
    # transformers' NewGELUActivation, by elementwise operations; autocast takes powers in FP32
    "gelu_new": Kept(input=True, others=3, wide=2),
    "linear": Kept(),
}


class Row(msgspec.Struct, frozen=True):
    """A layer, or several in a structure: the function of its kind, and its sizes."""

    kind: Callable[..., Tensor]
    sizes: tuple[Any, ...]
    named: dict[str, Any]

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        """Add it to a tally; return what it makes of a tensor."""
        return self.kind(tally, x, *self.sizes, **self.named)


Rows = tuple[Row, ...]


def layer(kind: Callable[Concatenate[Tally, Tensor, _Sizes], Tensor]) -> Callable[_Sizes, Row]:
    """Return the function that makes rows of this kind from their sizes."""
    return wraps(kind)(lambda *sizes, **named: Row(kind, sizes, named))


def run(rows: Rows, tally: Tally, x: Tensor) -> Tensor:
    """Add layers that follow one another."""
    for row in rows:
        x = row(tally, x)
    return x


@layer
def linear(tally: Tally, x: Tensor, out: int, *, bias: bool = True, adapted: bool = True, own: bool = True) -> Tensor:
    """A dense layer over the last dimension. Adapted: inside of a block, where LoRA and FP8 apply; not own: its weights are those of the embedding."""
    tally.read(x, trains=not adapted, in_fp8=adapted)
    width = x.shape[-1]
    tally.adapted += x.size // width * adapted
    tally.multiply(2 * x.size * out, 1 + x.grad)
    if own:
        tally.matrix(width, out, adapted=adapted)
    else:
        tally.tied += width * out
        tally.looked_up -= width * out
    return tally.made(x, (*x.shape[:-1], out), out * bias, wide=False, head=not adapted)


@layer
def conv(
    tally: Tally,
    x: Tensor,
    out: int,
    kernel: int,
    stride: int = 1,
    padding: int = 0,
    *,
    bias: bool = True,
    groups: int = 1,
    transposed: bool = False,
) -> Tensor:
    """A two-dimensional convolution, or a transposed one."""
    tally.read(x, trains=True)
    weights = x.shape[0] * out * kernel ** len(x.shape[1:]) // groups
    sides = [(side - 1) * stride - 2 * padding + kernel if transposed else _slid(side, kernel, stride, padding) for side in x.shape[1:]]
    tally.multiply(2 * weights * prod(x.shape[1:] if transposed else sides), 1 + x.grad)
    return tally.made(x, (out, *sides), weights + out * bias, wide=False)


@layer
def pool(tally: Tally, x: Tensor, kernel: int, stride: int, padding: int = 0, *, maximum: bool = True) -> Tensor:
    """Maxima or means of windows."""
    tally.keep(x)
    pooled = tally.made(x, (x.shape[0], *(_slid(side, kernel, stride, padding) for side in x.shape[1:])))
    tally.bytes(INDEX * pooled.size * maximum)
    return pooled


def _slid(side: int, kernel: int, stride: int, padding: int) -> int:
    """Return how often a window fits."""
    places = (side + 2 * padding - kernel) // stride + 1
    if places < 1:
        raise UsageError(f"A side of {side} is smaller than a window of {kernel}; the images are too small for this model.")
    return places


@layer
def poolto(tally: Tally, x: Tensor, side: int) -> Tensor:
    """Means of as many windows as make a given side."""
    if side > 1:
        tally.keep(x)
    return tally.made(x, (x.shape[0], side, side))


@layer
def upsample(tally: Tally, x: Tensor) -> Tensor:
    """Every value twice in both dimensions."""
    return tally.made(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2]))


@layer
def flatten(_: Tally, x: Tensor, *, tokens: bool = False) -> Tensor:
    """A view of all values in one dimension; of an image with `tokens`, one token a pixel."""
    return x._replace(shape=(prod(x.shape[1:]), x.shape[0]) if tokens else (x.size,))


@layer
def image(tally: Tally, x: Tensor) -> Tensor:
    """Tokens as pixels of a square image again."""
    side = round(x.shape[0] ** 0.5)
    return tally.made(x, (x.shape[1], side, side))


@layer
def norm(tally: Tally, x: Tensor, of: str, groups: int = 1, share: int = 1) -> Tensor:
    """A normalisation: "batch", "layer", "group" or "rms", as transformers computes it; `share` parts of the width have the same parameters."""
    tally.keep(x, wide=of != "batch")
    width = x.shape[0] if of in {"batch", "group"} else x.shape[-1] // share
    if of == "batch":
        tally.bytes(0, fixed=_STATISTICS * width)
        tally.buffers += _STATISTICS * width + INDEX
    else:
        tally.bytes(_STATISTICS // (1 + (of == "rms")) * (groups if of == "group" else x.size // width))
    if of == "rms":
        tally.keep(tally.made(x, x.shape), wide=True, trains=True)
    return tally.made(x, x.shape, width if of == "rms" else 2 * width, wide=x.wide or of != "batch")


@layer
def function(tally: Tally, x: Tensor, name: str) -> Tensor:
    """An elementwise function, by its name in FUNCTIONS."""
    kept = FUNCTIONS[name]
    y = tally.made(x, x.shape, wide=x.wide or kept.wide > 0)
    if kept.input:
        tally.keep(x, wide=kept.wide > 0)
    if kept.output:
        tally.keep(y)
    others = []
    for other in range(kept.others):
        others.append(tally.made(x, x.shape, wide=x.wide or other < kept.wide))
        tally.keep(others[-1])
    tally.together(x, y, *others[1:])  # without gradients, one of them is free when the last is there
    return y


@layer
def dropout(tally: Tally, x: Tensor) -> Tensor:
    """A random mask."""
    tally.bytes(x.size)
    return tally.made(x, x.shape)


@layer
def embedding(tally: Tally, x: Tensor, entries: int, width: int, places: int = 0, segments: int = 0) -> Tensor:
    """A vector for each token and, if there are any, for each place and each segment."""
    tally.bytes(INDEX * x.size * (1 + bool(segments)))
    for rows in filter(None, (entries, places, segments)):
        tally.matrix(rows, width, adapted=False)
        tally.looked_up += rows * width
    return tally.hold(tally.made(x, (x.size, width), wide=True))


@layer
def place(tally: Tally, x: Tensor, *, learned: bool = True) -> Tensor:
    """A vector added to each token; if they are learned, after a first token for the class."""
    tokens, width = x.shape
    tally.frozen += tokens * width * (not learned)
    return tally.hold(tally.made(x, (tokens + learned, width), (tokens + 2 * learned) * width, wide=True))


@layer
def first(_: Tally, x: Tensor) -> Tensor:
    """The first token, a view: what needs it for backward keeps all tokens."""
    return x._replace(shape=x.shape[1:], whole=x.size)
