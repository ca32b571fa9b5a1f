"""One function a layer kind: what it adds to parameters and FLOPs, and which of its tensors PyTorch saves for backward.

A network is a sequence of rows: a kind, its sizes, and last those that are named, in a dictionary. A tensor is kept once, whether the layer that makes it needs it or one that reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from gpudoctor.errors import UsageError
from gpudoctor.fit.tally import FULL_BYTES, INDEX_BYTES, LayerTally, Tensor

Rows = Sequence[Sequence[Any]]

_STATISTICS_BYTES = 8
"""Bytes of a mean and a deviation, in FP32."""
_FUSED_BACKWARD_FACTOR = 2.5
"""Attention's backward by its forward FLOPs: five matmuls to two, since the fused kernel computes the scores again.

https://github.com/pytorch/pytorch/blob/main/torch/utils/flop_counter.py
"""


class KeptTensors(NamedTuple):
    """What the backward of an elementwise function needs: its input, its output, and how many other results of the same size."""

    input: bool = False
    output: bool = False
    others: int = 0
    wide: int = 0
    """How many of them are in FP32 under autocast, as are then the input and what it returns."""


KEPT_BY_FUNCTION = {
    **dict.fromkeys(("relu", "tanh", "sigmoid", "softmax"), KeptTensors(output=True)),
    **dict.fromkeys(("gelu", "silu", "elu", "leaky_relu"), KeptTensors(input=True)),
    # transformers' NewGELUActivation, by elementwise operations; autocast takes powers in FP32
    "gelu_new": KeptTensors(input=True, others=3, wide=2),
    "linear": KeptTensors(),
}


def add_layers(rows: Rows, tally: LayerTally, x: Tensor) -> Tensor:
    """Add layers that follow one another to a tally; return what they make of a tensor."""
    for kind, *sizes in rows:
        named = sizes.pop() if sizes and isinstance(sizes[-1], dict) else {}
        add = kind if callable(kind) else globals()[kind]
        x = add(tally, x, *sizes, **named)
    return x


def linear(tally: LayerTally, x: Tensor, out: int, *, bias: bool = True, adapted: bool = True, tied: bool = False) -> Tensor:
    """A dense layer over the last dimension. Adapted: inside of a block, where LoRA and FP8 apply; tied: its weights are those of the embedding."""
    tally.read(x, trains=not adapted, in_fp8=adapted)
    width = x.shape[-1]
    tally.adapted += x.size // width * adapted
    tally.multiply(2 * x.size * out, 1 + x.grad)
    if tied:
        tally.tied += width * out
        tally.looked_up -= width * out
    else:
        tally.matrix(width, out, adapted=adapted)
    return tally.output_tensor(x, (*x.shape[:-1], out), out * bias, wide=False, head=not adapted)


def conv(
    tally: LayerTally,
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
    sides = [
        (side - 1) * stride - 2 * padding + kernel if transposed else _window_places(side, kernel, stride, padding) for side in x.shape[1:]
    ]
    tally.multiply(2 * weights * prod(x.shape[1:] if transposed else sides), 1 + x.grad)
    return tally.output_tensor(x, (out, *sides), weights + out * bias, wide=False)


def pool(tally: LayerTally, x: Tensor, kernel: int, stride: int, padding: int = 0, *, maximum: bool = True) -> Tensor:
    """Maxima or means of windows."""
    tally.keep(x)
    pooled = tally.output_tensor(x, (x.shape[0], *(_window_places(side, kernel, stride, padding) for side in x.shape[1:])))
    tally.bytes(INDEX_BYTES * pooled.size * maximum)
    return pooled


def _window_places(side: int, kernel: int, stride: int, padding: int) -> int:
    """Return how often a window fits."""
    places = (side + 2 * padding - kernel) // stride + 1
    if places < 1:
        raise UsageError(f"A side of {side} is smaller than a window of {kernel}; the images are too small for this model.")
    return places


def poolto(tally: LayerTally, x: Tensor, side: int) -> Tensor:
    """Means of as many windows as make a given side."""
    if side > 1:
        tally.keep(x)
    return tally.output_tensor(x, (x.shape[0], side, side))


def upsample(tally: LayerTally, x: Tensor) -> Tensor:
    """Every value twice in both dimensions."""
    return tally.output_tensor(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2]))


def flatten(_: LayerTally, x: Tensor, *, tokens: bool = False) -> Tensor:
    """A view of all values in one dimension; of an image with `tokens`, one token a pixel."""
    return x._replace(shape=(prod(x.shape[1:]), x.shape[0]) if tokens else (x.size,))


def image(tally: LayerTally, x: Tensor) -> Tensor:
    """Tokens as pixels of a square image again."""
    side = round(x.shape[0] ** 0.5)
    return tally.output_tensor(x, (x.shape[1], side, side))


def norm(tally: LayerTally, x: Tensor, of: str, groups: int = 1, share: int = 1) -> Tensor:
    """A normalisation: "batch", "layer", "group" or "rms", as transformers computes it; `share` parts of the width have the same parameters."""
    tally.keep(x, wide=of != "batch")
    width = x.shape[0] if of in {"batch", "group"} else x.shape[-1] // share
    if of == "batch":
        tally.bytes(0, fixed=_STATISTICS_BYTES * width)
        tally.buffers += _STATISTICS_BYTES * width + INDEX_BYTES
    else:
        tally.bytes(_STATISTICS_BYTES // (1 + (of == "rms")) * (groups if of == "group" else x.size // width))
    if of == "rms":
        tally.keep(tally.output_tensor(x, x.shape), wide=True, trains=True)
    return tally.output_tensor(x, x.shape, width if of == "rms" else 2 * width, wide=x.wide or of != "batch")


def function(tally: LayerTally, x: Tensor, name: str) -> Tensor:
    """An elementwise function, by its name in FUNCTIONS."""
    kept = KEPT_BY_FUNCTION[name]
    y = tally.output_tensor(x, x.shape, wide=x.wide or kept.wide > 0)
    if kept.input:
        tally.keep(x, wide=kept.wide > 0)
    if kept.output:
        tally.keep(y)
    others = []
    for other in range(kept.others):
        others.append(tally.output_tensor(x, x.shape, wide=x.wide or other < kept.wide))
        tally.keep(others[-1])
    tally.note_together(x, y, *others[1:])  # without gradients, one of them is free when the last is there
    return y


def dropout(tally: LayerTally, x: Tensor, share: float = 1) -> Tensor:
    """A random mask, unless it drops nothing."""
    if not share:
        return x
    tally.bytes(x.size)
    return tally.output_tensor(x, x.shape)


def embedding(tally: LayerTally, x: Tensor, entries: int, width: int, places: int = 0, segments: int = 0) -> Tensor:
    """A vector for each token and, if there are any, for each place and each segment."""
    tally.bytes(INDEX_BYTES * x.size * (1 + bool(segments)))
    for rows in filter(None, (entries, places, segments)):
        tally.matrix(rows, width, adapted=False)
        tally.looked_up += rows * width
    return tally.hold(tally.output_tensor(x, (x.size, width), wide=True))


def place(tally: LayerTally, x: Tensor, *, learned: bool = True) -> Tensor:
    """A vector added to each token; if they are learned, after a first token for the class."""
    tokens, width = x.shape
    tally.frozen += tokens * width * (not learned)
    return tally.hold(tally.output_tensor(x, (tokens + learned, width), (tokens + 2 * learned) * width, wide=True))


def first(_: LayerTally, x: Tensor) -> Tensor:
    """The first token, a view: what needs it for backward keeps all tokens."""
    return x._replace(shape=x.shape[1:], whole=x.size)


def attention(
    tally: LayerTally,
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
    q = linear(tally, x, heads * size, bias=bias)
    k = linear(tally, y, of_keys * size, bias=bias and bias_keys)
    v = linear(tally, y, of_keys * size, bias=bias)
    if normed:
        q, k = norm(tally, q, "rms", share=heads), norm(tally, k, "rms", share=of_keys)
    mixed = tally.output_tensor(q, q.shape, wide=False)
    tally.note_together(x, q, k, v, mixed)
    for tensor in (q, k, v, mixed):
        tally.read(tensor)
    tally.bytes(FULL_BYTES * heads * tokens)
    tally.scores += heads * tokens * k.shape[0]
    tally.multiply(4 * tokens * k.shape[0] * heads * size, _FUSED_BACKWARD_FACTOR)
    tally.cache_elements += (k.size + v.size) * cached
    return linear(tally, mixed, width, bias=bias_out)


def gated(tally: LayerTally, x: Tensor, width: int, name: str = "silu", *, bias: bool = False, fused: bool = False) -> Tensor:
    """A product of two projections, one of them through a function, and the projection back; fused: one matmul makes both."""
    gate = function(tally, linear(tally, x, width, bias=bias), name)
    up = linear(tally, x, width, bias=bias)
    tally.keep(gate)
    tally.keep(up)
    beside = [tally.input_tensor(up.shape) for _ in range(1 + fused)]  # the product; half of a fused result keeps all of it
    tally.note_together(x, gate, up, *beside)
    return linear(tally, tally.output_tensor(up, up.shape), x.shape[-1], bias=bias)


def experts(tally: LayerTally, x: Tensor, count: int, chosen: int, width: int, name: str = "silu", shared: int = 0) -> Tensor:
    """Gated layers, some of which a router chooses for each token, and perhaps one more of width `shared` that all tokens go through."""
    tokens, read = x.shape
    tally.keep(linear(tally, x, count, bias=False, adapted=False), wide=True)  # the router's shares
    with tally.uncast():
        y = gated(tally, tally.output_tensor(x, (tokens * chosen, read)), width, name, fused=True)
        tally.keep(y)
    for rows, columns in ((read, width), (read, width), (width, read)):
        tally.matrix(rows, columns, adapted=True, count=count - 1)
    tally.bytes((INDEX_BYTES + FULL_BYTES) * tokens * chosen)
    if shared:
        tally.keep(gated(tally, x, shared, name))
        tally.keep(linear(tally, x, 1, bias=False, adapted=False))
    return tally.output_tensor(x, x.shape, wide=False)


def shift(tally: LayerTally, x: Tensor, width: int) -> Tensor:
    """A projection of the time embedding of this width, added to each channel."""
    tally.matrix(width, x.shape[0], adapted=False)
    tally.multiply(2 * width * x.shape[0], 1 + x.grad)
    return tally.output_tensor(x, x.shape, parameters=x.shape[0])


def context(tally: LayerTally, x: Tensor, name: str, height: int, width: int, body: Rows = (), *, stride: int = 1) -> Tensor:
    """A second input, which crossed attention reads, perhaps through layers of its own whose strides divide its width by `stride`."""
    shape = tally.beside[name] = height, stride * width
    tally.context = add_layers(body, tally, tally.hold(tally.input_tensor(shape)))
    return x


def time(tally: LayerTally, x: Tensor, reads: int, width: int) -> Tensor:
    """The time embedding: a dense layer to this width and another one."""
    add_layers((("linear", width), ("function", "silu"), ("linear", width)), tally, tally.input_tensor((reads,)))
    return x


def residual(tally: LayerTally, x: Tensor, body: Rows, shortcut: Rows = (), *, matched: bool = False) -> Tensor:
    """The sum of layers and of what they read, perhaps through other layers: if `matched`, a 1x1 convolution where the number of channels differs."""
    with tally.keeping_alive(x):
        y = add_layers(body, tally, x)
        with tally.keeping_alive(y):
            past = add_layers([("conv", y.shape[0], 1)] if matched and x.shape != y.shape else shortcut, tally, x)
        whole = tally.output_tensor(y, y.shape, wide=x.wide or y.wide)
        tally.note_together(y, past, whole)
    return whole


def called(tally: LayerTally, x: Tensor, body: Rows) -> Tensor:
    """Layers of a function whose caller holds what it passes."""
    with tally.keeping_alive(x):
        return add_layers(body, tally, x)


def branch(tally: LayerTally, x: Tensor) -> Tensor:
    """What goes on to the next layer, and past it to a `join`."""
    tally.branches.append(x)
    return x


def join(tally: LayerTally, x: Tensor) -> Tensor:
    """The channels of the last branch that was not joined, beside those of `x`."""
    past = tally.branches.pop()
    return tally.output_tensor(x, (past.shape[0] + x.shape[0], *past.shape[1:]), wide=past.wide or x.wide)


def block(tally: LayerTally, x: Tensor, body: Rows) -> Tensor:
    """Layers that checkpointing recomputes together and sharding gathers together."""
    with tally.block(x):
        return add_layers(body, tally, x)


def loss(tally: LayerTally, x: Tensor, *, squares: bool = False) -> Tensor:
    """The loss: cross entropy over the last dimension, or a mean of squares. The loop holds what the model returns, as in `outputs.loss.backward()`."""
    y = x if squares else tally.input_tensor(x.shape)
    tally.keep(y, wide=True)
    tally.alive(2 * FULL_BYTES * x.size + x.bytes(tally.width) * (y is not x))
    tally.bytes(0 if squares else INDEX_BYTES * (x.size // x.shape[-1]))
    return y
