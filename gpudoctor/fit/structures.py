"""Layers with several parts, structures of layers, and the loss; rows as in `layers`."""

from __future__ import annotations

from gpudoctor.fit.layers import Conv, Function, Linear, Norm, Row, Rows, run
from gpudoctor.fit.tally import FULL, INDEX, Tally, Tensor


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

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tokens, width = x.shape
        size = self.size or width // self.heads
        y = tally.given(self.context) if self.context else x
        q = Linear(self.heads * size, self.bias)(tally, x)
        k, v = (Linear((self.of_keys or self.heads) * size, self.bias)(tally, y) for _ in range(2))
        if self.normed:
            q, k = (Norm("rms", share=one.shape[-1] // size)(tally, one) for one in (q, k))
        mixed = tally.made(q, q.shape, wide=False)
        for tensor in (q, k, v, mixed):
            tally.read(tensor)
        tally.bytes(4 * self.heads * tokens)
        tally.scores += self.heads * tokens * k.shape[0]
        tally.attend(4 * tokens * k.shape[0] * self.heads * size)
        tally.cached += (k.size + v.size) * self.cached
        return Linear(width, self.bias if self.bias_out is None else self.bias_out)(tally, mixed)


class Gated(Row, frozen=True):
    """A product of two projections, one of them through a function, and the projection back."""

    width: int
    name: str = "silu"
    bias: bool = False

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        gate = Function(self.name)(tally, Linear(self.width, self.bias)(tally, x))
        up = Linear(self.width, self.bias)(tally, x)
        tally.keep(gate)
        tally.keep(up)
        return Linear(x.shape[-1], self.bias)(tally, tally.made(up, up.shape))


class Experts(Row, frozen=True):
    """Gated layers, some of which a router chooses for each token, and perhaps one more that all tokens go through."""

    count: int
    chosen: int
    width: int
    name: str = "silu"
    shared: int = 0
    """The width of the one for all tokens; 0: there is none."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tokens, width = x.shape
        tally.keep(Linear(self.count, bias=False, adapted=False)(tally, x), wide=True)  # the router's shares
        y = Gated(self.width, self.name)(tally, tally.made(x, (tokens * self.chosen, width)))
        for rows, columns in 2 * (self.count - 1) * [(width, self.width)] + (self.count - 1) * [(self.width, width)]:
            tally.matrix(rows, columns, adapted=True)
        tally.keep(y)
        tally.bytes((INDEX + FULL) * tokens * self.chosen)
        if self.shared:
            tally.keep(Gated(self.shared, self.name)(tally, x))
            tally.keep(Linear(1, bias=False, adapted=False)(tally, x))
        return tally.made(x, x.shape, wide=False)


class Shift(Row, frozen=True):
    """A projection of the time embedding of this width, added to each channel."""

    width: int

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        tally.matrix(self.width, x.shape[0], adapted=False)
        tally.multiply(2 * self.width * x.shape[0], x)
        return tally.made(x, x.shape, parameters=x.shape[0])


class Time(Row, frozen=True):
    """The time embedding: a dense layer to this width and another one."""

    reads: int
    width: int

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        run((Linear(self.width), Function("silu"), Linear(self.width)), tally, tally.given((self.reads,)))
        return x


class Residual(Row, frozen=True):
    """The sum of layers and of what they read, perhaps through other layers."""

    body: Rows
    shortcut: Rows = ()
    matched: bool = False
    """The shortcut is a 1x1 convolution where the number of channels differs."""

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        y = run(self.body, tally, x)
        run((Conv(y.shape[0], 1),) if self.matched and x.shape != y.shape else self.shortcut, tally, x)
        return tally.made(y, y.shape, wide=x.wide or y.wide)


class Concat(Row, frozen=True):
    """The channels of what layers read, beside those of their output."""

    body: Rows

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        y = run(self.body, tally, x)
        return tally.made(y, (x.shape[0] + y.shape[0], *x.shape[1:]), wide=x.wide or y.wide)


class Block(Row, frozen=True):
    """Layers that checkpointing recomputes together and sharding gathers together."""

    body: Rows

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        with tally.block(x):
            return run(self.body, tally, x)


class Loss(Row, frozen=True):
    """The loss: cross entropy over the last dimension, or a mean of squares."""

    squares: bool = False

    def __call__(self, tally: Tally, x: Tensor) -> Tensor:
        y = x if self.squares else tally.given(x.shape)
        tally.keep(y, wide=True)
        tally.alive(2 * FULL * x.size)
        tally.bytes(0 if self.squares else INDEX * (x.size // x.shape[-1]))
        return y
