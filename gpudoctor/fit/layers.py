"""One row a layer kind: what it adds to parameters and FLOPs, and which of its tensors PyTorch saves for backward.

A network is a tuple of rows. A tensor is kept once, whether the layer that makes it needs it or one that reads it.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.tally import FULL, Tally, Tensor


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
    "elu": Kept(output=True),
    "leaky_relu": Kept(input=True),
    "gelu_new": Kept(input=True, others=3),  # transformers' NewGELUActivation computes it from PyTorch's elementwise operations
    "linear": Kept(),
}
_INDEX = 8
"""Bytes of an index: of a token, a label, a maximum."""
_STATISTICS = 8
"""Bytes of a mean and a deviation, in FP32."""


class Row(msgspec.Struct, frozen=True, tag=str.lower, tag_field="kind"):
    """A layer, or several in a structure."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Add this layer to the tally and return its output."""
        raise NotImplementedError


Rows = tuple[Row, ...]


def run(rows: Rows, tally: Tally, x: Tensor) -> Tensor:
    """Add layers that follow one another."""
    for row in rows:
        x = row.run(tally, x)
    return x


class Linear(Row, frozen=True):
    """A dense layer over the last dimension."""

    out: int
    bias: bool = True
    adapted: bool = True
    own: bool = True
    """False: its weights are those of the embedding."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the input."""
        tally.keep(x)
        width = x.shape[-1]
        tally.multiply(2 * x.size * self.out, x)
        if self.own:
            tally.matrix(width, self.out, adapted=self.adapted)
        return tally.made(x, (*x.shape[:-1], self.out), parameters=self.out * self.bias)


class Conv(Row, frozen=True):
    """A two-dimensional convolution, or a transposed one."""

    out: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True
    groups: int = 1
    transposed: bool = False

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the input."""
        tally.keep(x)
        channels = x.shape[0]
        weights = channels * self.out * self.kernel**2 // self.groups
        sides = tuple(
            (side - 1) * self.stride - 2 * self.padding + self.kernel if self.transposed else _slid(side, self) for side in x.shape[1:]
        )
        tally.multiply(2 * weights * prod(x.shape[1:] if self.transposed else sides), x)
        return tally.made(x, (self.out, *sides), parameters=weights + self.out * self.bias)


class Pool(Row, frozen=True):
    """Maxima or means of windows."""

    kernel: int
    stride: int
    padding: int = 0
    maximum: bool = True

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the input and, for maxima, their places."""
        tally.keep(x)
        pooled = tally.made(x, (x.shape[0], *(_slid(side, self) for side in x.shape[1:])))
        tally.bytes(_INDEX * pooled.size * self.maximum)
        return pooled


class PoolTo(Row, frozen=True):
    """Means of as many windows as make a given side; of one window also without the spatial dimensions."""

    side: int

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the input, but for a mean over everything."""
        if self.side > 1:
            tally.keep(x)
        return tally.made(x, (x.shape[0], self.side, self.side))


class Upsample(Row, frozen=True):
    """Every value twice in both dimensions."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep nothing."""
        return tally.made(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2]))


class Flatten(Row, frozen=True):
    """All values in one dimension; of an image with `tokens`, one token a pixel."""

    tokens: bool = False

    def run(self, tally: Tally, x: Tensor) -> Tensor:  # noqa: ARG002 -- a view
        """Return a view."""
        return x._replace(shape=(prod(x.shape[1:]), x.shape[0]) if self.tokens else (x.size,))


class Image(Row, frozen=True):
    """Tokens as pixels of a square image again."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Make a copy in the order of an image."""
        side = round(x.shape[0] ** 0.5)
        return tally.made(x, (x.shape[1], side, side))


class Norm(Row, frozen=True):
    """A normalisation: "batch", "layer", "group" or "rms", as transformers computes it."""

    of: str
    groups: int = 1
    share: int = 1
    """How many parts of the width have the same parameters."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the input, under autocast in FP32 except for batch normalisation, and the statistics."""
        tally.keep(x, wide=self.of != "batch")
        width = x.shape[0] if self.of in {"batch", "group"} else x.shape[-1] // self.share
        if self.of == "batch":
            tally.fixed += _STATISTICS * width
            tally.buffers += _STATISTICS * width + _INDEX
        else:
            tally.bytes(_STATISTICS // (1 + (self.of == "rms")) * (self.groups if self.of == "group" else x.size // width))
        if self.of == "rms":
            tally.keep(tally.made(x, x.shape), wide=True)
        return tally.made(x, x.shape, parameters=width if self.of == "rms" else 2 * width)


class Function(Row, frozen=True):
    """An elementwise function, by its name in FUNCTIONS."""

    name: str

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep what its backward needs."""
        kept = FUNCTIONS[self.name]
        y = tally.made(x, x.shape)
        for tensor in (*[x] * kept.input, *[y] * kept.output, *(tally.made(x, x.shape) for _ in range(kept.others))):
            tally.keep(tensor)
        return y


class Dropout(Row, frozen=True):
    """A random mask."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the mask, a byte for each value."""
        tally.bytes(x.size)
        return tally.made(x, x.shape)


class Embedding(Row, frozen=True):
    """A vector for each token and, if there are any, for each place and each segment."""

    entries: int
    width: int
    places: int = 0
    segments: int = 0

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the indices."""
        tally.bytes(_INDEX * x.size * (1 + bool(self.segments)))
        for rows in filter(None, (self.entries, self.places, self.segments)):
            tally.matrix(rows, self.width, adapted=False)
        return tally.made(x, (x.size, self.width))


class Place(Row, frozen=True):
    """A learned vector added to each token, after a first token for the class."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep nothing."""
        tokens, width = x.shape
        return tally.made(x, (tokens + 1, width), parameters=(tokens + 2) * width)


class First(Row, frozen=True):
    """The first token."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Make a copy of it."""
        return tally.made(x, x.shape[1:])


class Attention(Row, frozen=True):
    """Attention with its projections, by scaled_dot_product_attention; over a context of (tokens, width) if there is one."""

    heads: int
    of_keys: int = 0
    """Heads of keys and values; 0: as many."""
    size: int = 0
    """Of a head; 0: the width divided by the heads."""
    bias: bool = True
    bias_out: bool | None = None
    """None: as `bias`."""
    context: tuple[int, int] | None = None
    cached: bool = False
    """Whether text generation keeps its keys and values."""
    normed: bool = False
    """Whether queries and keys are normalised for each head."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep queries, keys, values, result and the logarithm of each sum."""
        tokens, width = x.shape
        size = self.size or width // self.heads
        y = tally.made(x._replace(grad=False), self.context) if self.context else x
        q = Linear(self.heads * size, self.bias).run(tally, x)
        k, v = (Linear((self.of_keys or self.heads) * size, self.bias).run(tally, y) for _ in range(2))
        if self.normed:
            q, k = (Norm("rms", share=one.shape[-1] // size).run(tally, one) for one in (q, k))
        mixed = tally.made(q, q.shape)
        for tensor in (q, k, v, mixed):
            tally.keep(tensor)
        tally.bytes(4 * self.heads * tokens)
        tally.attend(4 * tokens * k.shape[0] * self.heads * size)
        tally.cached += (k.size + v.size) * self.cached
        return Linear(width, self.bias if self.bias_out is None else self.bias_out).run(tally, mixed)


class Gated(Row, frozen=True):
    """A product of two projections, one of them through a function, and the projection back."""

    width: int
    name: str = "silu"
    bias: bool = False

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep both factors."""
        gate = Function(self.name).run(tally, Linear(self.width, self.bias).run(tally, x))
        up = Linear(self.width, self.bias).run(tally, x)
        tally.keep(gate)
        tally.keep(up)
        return Linear(x.shape[-1], self.bias).run(tally, tally.made(up, up.shape))


class Shift(Row, frozen=True):
    """A projection of the time embedding of this width, added to each channel."""

    width: int

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep nothing beyond the embedding."""
        tally.matrix(self.width, x.shape[0], adapted=False)
        tally.multiply(2 * self.width * x.shape[0], x)
        return tally.made(x, x.shape, parameters=x.shape[0])


class Time(Row, frozen=True):
    """The time embedding: a dense layer to this width and another one."""

    reads: int
    width: int

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Count the layers; the sample passes by."""
        run((Linear(self.width), Function("silu"), Linear(self.width)), tally, tally.given((self.reads,)))
        return x


class Residual(Row, frozen=True):
    """The sum of layers and of what they read, perhaps through other layers."""

    body: Rows
    shortcut: Rows = ()
    matched: bool = False
    """The shortcut is a 1x1 convolution where the number of channels differs."""

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep nothing for the sum."""
        y = run(self.body, tally, x)
        run((Conv(y.shape[0], 1),) if self.matched and x.shape != y.shape else self.shortcut, tally, x)
        return tally.made(y, y.shape)


class Concat(Row, frozen=True):
    """The channels of what layers read, beside those of their output."""

    body: Rows

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep nothing; the smaller of the two images is padded."""
        y = run(self.body, tally, x)
        return tally.made(y, (x.shape[0] + y.shape[0], *x.shape[1:]))


class Block(Row, frozen=True):
    """Layers that checkpointing recomputes together and sharding gathers together."""

    body: Rows

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Note what is kept inside."""
        with tally.block(x):
            return run(self.body, tally, x)


class Loss(Row, frozen=True):
    """The loss: cross entropy over the last dimension, or a mean of squares."""

    squares: bool = False

    def run(self, tally: Tally, x: Tensor) -> Tensor:
        """Keep the logarithms of the probabilities and the labels, or the output; backward begins with the output and its gradient."""
        y = x if self.squares else tally.made(x, x.shape)
        tally.keep(y, wide=True)
        tally.alive(2 * FULL * x.size)
        tally.bytes(0 if self.squares else _INDEX * (x.size // x.shape[-1]))
        return y


def _slid(side: int, window: Conv | Pool) -> int:
    """Return how often a window fits."""
    places = (side + 2 * window.padding - window.kernel) // window.stride + 1
    if places < 1:
        raise UsageError(f"A side of {side} is smaller than a window of {window.kernel}; the images are too small for this model.")
    return places
