"""One row a layer kind: what it adds to parameters and FLOPs, and which of its tensors PyTorch saves for backward.

A network is a tuple of rows. A tensor is kept once, whether the layer that makes it needs it or one that reads it.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.tally import INDEX, Tally, Tensor


class Kept(NamedTuple):
    """What the backward of an elementwise function needs."""

    input: bool = False
    output: bool = False
    others: int = 0
    """Intermediate results of the same size."""


FUNCTIONS = {
    "relu": Kept(output=True),
    "tanh": Kept(output=True),
    "sigmoid": Kept(output=True),
    "softmax": Kept(output=True),
    "gelu": Kept(input=True),
    "silu": Kept(input=True),
    "elu": Kept(input=True),
    "leaky_relu": Kept(input=True),
    "gelu_new": Kept(input=True, others=3),  # transformers' NewGELUActivation computes it from PyTorch's elementwise operations
    "linear": Kept(),
}
_STATISTICS = 8
"""Bytes of a mean and a deviation, in FP32."""


class Row(msgspec.Struct, frozen=True, tag=str.lower, tag_field="kind"):
    """A layer, or several in a structure."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        raise NotImplementedError


Rows = tuple[Row, ...]


def run(rows: Rows, tally: Tally, x: Tensor) -> Tensor:
    """Add layers that follow one another."""
    for row in rows:
        x = row(tally, x)
    return x


class Linear(Row, frozen=True):
    """A dense layer over the last dimension."""

    out: int
    bias: bool = True
    adapted: bool = True
    own: bool = True
    """False: its weights are those of the embedding."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.read(x, trains=not self.adapted)
        width = x.shape[-1]
        tally.adapted += x.size // width * self.adapted
        tally.multiply(2 * x.size * self.out, x)
        if self.own:
            tally.matrix(width, self.out, adapted=self.adapted)
        else:
            tally.tied += width * self.out
        return tally.made(x, (*x.shape[:-1], self.out), self.out * self.bias, wide=False)


class Conv(Row, frozen=True):
    """A two-dimensional convolution, or a transposed one."""

    out: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True
    groups: int = 1
    transposed: bool = False

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.read(x, trains=True)
        channels = x.shape[0]
        weights = channels * self.out * self.kernel**2 // self.groups
        sides = tuple(
            (side - 1) * self.stride - 2 * self.padding + self.kernel if self.transposed else _slid(side, self) for side in x.shape[1:]
        )
        tally.multiply(2 * weights * prod(x.shape[1:] if self.transposed else sides), x)
        return tally.made(x, (self.out, *sides), weights + self.out * self.bias, wide=False)


class Pool(Row, frozen=True):
    """Maxima or means of windows."""

    kernel: int
    stride: int
    padding: int = 0
    maximum: bool = True

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.keep(x)
        pooled = tally.made(x, (x.shape[0], *(_slid(side, self) for side in x.shape[1:])))
        tally.bytes(INDEX * pooled.size * self.maximum)
        return pooled


class PoolTo(Row, frozen=True):
    """Means of as many windows as make a given side; of one window also without the spatial dimensions."""

    side: int

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        if self.side > 1:
            tally.keep(x)
        return tally.made(x, (x.shape[0], self.side, self.side))


class Upsample(Row, frozen=True):
    """Every value twice in both dimensions."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        return tally.made(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2]))


class Flatten(Row, frozen=True):
    """All values in one dimension; of an image with `tokens`, one token a pixel."""

    tokens: bool = False

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:  # noqa: ARG002 -- a view
        return x._replace(shape=(prod(x.shape[1:]), x.shape[0]) if self.tokens else (x.size,))


class Image(Row, frozen=True):
    """Tokens as pixels of a square image again."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        side = round(x.shape[0] ** 0.5)
        return tally.made(x, (x.shape[1], side, side))


class Norm(Row, frozen=True):
    """A normalisation: "batch", "layer", "group" or "rms", as transformers computes it."""

    of: str
    groups: int = 1
    share: int = 1
    """How many parts of the width have the same parameters."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.keep(x, wide=self.of != "batch")
        width = x.shape[0] if self.of in {"batch", "group"} else x.shape[-1] // self.share
        if self.of == "batch":
            tally.fixed += _STATISTICS * width
            tally.buffers += _STATISTICS * width + INDEX
        else:
            tally.bytes(_STATISTICS // (1 + (self.of == "rms")) * (self.groups if self.of == "group" else x.size // width))
        if self.of == "rms":
            tally.keep(tally.made(x, x.shape), wide=True, trains=True)
        return tally.made(x, x.shape, width if self.of == "rms" else 2 * width, wide=x.wide or self.of != "batch")


class Function(Row, frozen=True):
    """An elementwise function, by its name in FUNCTIONS."""

    name: str

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        kept = FUNCTIONS[self.name]
        y = tally.made(x, x.shape)
        for tensor in (*[x] * kept.input, *[y] * kept.output, *(tally.made(x, x.shape) for _ in range(kept.others))):
            tally.keep(tensor)
        return y


class Dropout(Row, frozen=True):
    """A random mask."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.bytes(x.size)
        return tally.made(x, x.shape)


class Embedding(Row, frozen=True):
    """A vector for each token and, if there are any, for each place and each segment."""

    entries: int
    width: int
    places: int = 0
    segments: int = 0

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.bytes(INDEX * x.size * (1 + bool(self.segments)))
        for rows in filter(None, (self.entries, self.places, self.segments)):
            tally.matrix(rows, self.width, adapted=False)
        return tally.made(x, (x.size, self.width), wide=True)


class Place(Row, frozen=True):
    """A learned vector added to each token, after a first token for the class."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tokens, width = x.shape
        return tally.made(x, (tokens + 1, width), (tokens + 2) * width, wide=True)


class First(Row, frozen=True):
    """The first token, a view: what needs it for backward keeps all tokens."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:  # noqa: ARG002 -- a view
        return x._replace(shape=x.shape[1:], whole=x.size)


def _slid(side: int, window: Conv | Pool) -> int:
    """Return how often a window fits."""
    places = (side + 2 * window.padding - window.kernel) // window.stride + 1
    if places < 1:
        raise UsageError(f"A side of {side} is smaller than a window of {window.kernel}; the images are too small for this model.")
    return places
