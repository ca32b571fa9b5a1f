"""Layers with several parts, structures of layers, and the loss; rows as in `layers`."""

from __future__ import annotations

from gpudoctor.fit.layers import Rows, conv, function, layer, linear, norm, run
from gpudoctor.fit.tally import FULL, INDEX, Tally, Tensor

_FUSED_BACKWARD = 2.5
"""Attention's backward by its forward FLOPs: five matmuls to two, since the fused kernel computes the scores again.

https://github.com/pytorch/pytorch/blob/main/torch/utils/flop_counter.py
"""


@layer
def attention(
    tally: Tally,
    x: Tensor,
    heads: int,
    of_keys: int = 0,
    size: int = 0,
    *,
    bias: bool = True,
    bias_keys: bool = True,
    bias_out: bool = True,
    crossed: bool = False,
    cached: bool = False,
    normed: bool = False,
) -> Tensor:
    """Attention with its projections, by scaled_dot_product_attention; crossed: over the context.

    There are as many heads `of_keys` and values unless stated; their size is the width divided by the heads unless stated. Cached: generating text
    keeps keys and values. Normed: queries and keys are normalised for each head.
    """
    (tokens, width), of_keys = x.shape, of_keys or heads
    size, y = size or width // heads, tally.context if crossed else x
    q, k, v = (
        linear(count * size, bias=biased)(tally, one)
        for count, one, biased in ((heads, x, bias), (of_keys, y, bias and bias_keys), (of_keys, y, bias))
    )
    if normed:
        q, k = (norm("rms", share=count)(tally, one) for count, one in ((heads, q), (of_keys, k)))
    mixed = tally.made(q, q.shape, wide=False)
    tally.together(x, q, k, v, mixed)
    for tensor in (q, k, v, mixed):
        tally.read(tensor)
    tally.bytes(FULL * heads * tokens)
    tally.scores += heads * tokens * k.shape[0]
    tally.multiply(4 * tokens * k.shape[0] * heads * size, _FUSED_BACKWARD)
    tally.cached += (k.size + v.size) * cached
    return linear(width, bias=bias_out)(tally, mixed)


@layer
def gated(tally: Tally, x: Tensor, width: int, name: str = "silu", *, bias: bool = False, fused: bool = False) -> Tensor:
    """A product of two projections, one of them through a function, and the projection back; fused: one matmul makes both."""
    gate = function(name)(tally, linear(width, bias=bias)(tally, x))
    up = linear(width, bias=bias)(tally, x)
    tally.keep(gate)
    tally.keep(up)
    tally.together(
        x, gate, up, *(tally.given(up.shape) for _ in range(1 + fused))
    )  # with the product; half of a fused result keeps all of it
    return linear(x.shape[-1], bias=bias)(tally, tally.made(up, up.shape))


@layer
def experts(tally: Tally, x: Tensor, count: int, chosen: int, width: int, name: str = "silu", shared: int = 0) -> Tensor:
    """Gated layers, some of which a router chooses for each token, and perhaps one more of width `shared` that all tokens go through."""
    tokens, read = x.shape
    tally.keep(linear(count, bias=False, adapted=False)(tally, x), wide=True)  # the router's shares
    with tally.uncast():
        y = gated(width, name, fused=True)(tally, tally.made(x, (tokens * chosen, read)))
        tally.keep(y)
    for rows, columns in ((read, width), (read, width), (width, read)):
        tally.matrix(rows, columns, adapted=True, count=count - 1)
    tally.bytes((INDEX + FULL) * tokens * chosen)
    if shared:
        tally.keep(gated(shared, name)(tally, x))
        tally.keep(linear(1, bias=False, adapted=False)(tally, x))
    return tally.made(x, x.shape, wide=False)


@layer
def shift(tally: Tally, x: Tensor, width: int) -> Tensor:
    """A projection of the time embedding of this width, added to each channel."""
    tally.matrix(width, x.shape[0], adapted=False)
    tally.multiply(2 * width * x.shape[0], 1 + x.grad)
    return tally.made(x, x.shape, parameters=x.shape[0])


@layer
def context(tally: Tally, x: Tensor, name: str, height: int, width: int, body: Rows = ()) -> Tensor:
    """A second input, which crossed attention reads, perhaps through layers of its own."""
    tally.beside[name] = height, width
    tally.context = run(body, tally, tally.entered((height, width)))
    return x


@layer
def time(tally: Tally, x: Tensor, reads: int, width: int) -> Tensor:
    """The time embedding: a dense layer to this width and another one."""
    run((linear(width), function("silu"), linear(width)), tally, tally.given((reads,)))
    return x


@layer
def residual(tally: Tally, x: Tensor, body: Rows, shortcut: Rows = (), *, matched: bool = False) -> Tensor:
    """The sum of layers and of what they read, perhaps through other layers: if `matched`, a 1x1 convolution where the number of channels differs."""
    with tally.holding(x):
        y = run(body, tally, x)
        with tally.holding(y):
            past = run((conv(y.shape[0], 1),) if matched and x.shape != y.shape else shortcut, tally, x)
        whole = tally.made(y, y.shape, wide=x.wide or y.wide)
        tally.together(y, past, whole)
    return whole


@layer
def called(tally: Tally, x: Tensor, body: Rows) -> Tensor:
    """Layers of a function whose caller holds what it passes."""
    with tally.holding(x):
        return run(body, tally, x)


@layer
def branch(tally: Tally, x: Tensor) -> Tensor:
    """What goes on to the next layer, and past it to a `join`."""
    tally.branches.append(x)
    return x


@layer
def join(tally: Tally, x: Tensor) -> Tensor:
    """The channels of the last branch that was not joined, beside those of `x`."""
    past = tally.branches.pop()
    return tally.made(x, (past.shape[0] + x.shape[0], *past.shape[1:]), wide=past.wide or x.wide)


@layer
def block(tally: Tally, x: Tensor, body: Rows) -> Tensor:
    """Layers that checkpointing recomputes together and sharding gathers together."""
    with tally.block(x):
        return run(body, tally, x)


@layer
def loss(tally: Tally, x: Tensor, *, squares: bool = False) -> Tensor:
    """The loss: cross entropy over the last dimension, or a mean of squares. The loop holds what the model returns, as in `outputs.loss.backward()`."""
    y = x if squares else tally.given(x.shape)
    tally.keep(y, wide=True)
    tally.alive(2 * FULL * x.size + x.bytes(tally.width) * (y is not x))
    tally.bytes(0 if squares else INDEX * (x.size // x.shape[-1]))
    return y
