"""Networks as data: rows of layers and of parts that recur, as models.json has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gpudoctor.fit.layers import Row, Rows, conv, flatten, function, image, linear, norm, pool, poolto, upsample
from gpudoctor.fit.structures import attention, block, branch, gated, join, loss, residual, shift, time

_RELU = function("relu")


def rows_of(described: Iterable[Any]) -> Rows:
    """Return the rows of [kind, sizes…, {named sizes}] and of {"times": N, "rows": […]}."""
    rows: list[Row] = []
    for one in described:
        if isinstance(one, dict):
            rows += rows_of(one["rows"]) * one["times"]
            continue
        kind, *sizes = one
        named = sizes.pop() if sizes and isinstance(sizes[-1], dict) else {}
        made = KINDS[kind](*sizes, **named)
        rows += [made] if isinstance(made, Row) else made
    return tuple(rows)


def dense(*widths: int) -> Rows:
    """Return dense layers with ReLU between them, and the loss."""
    hidden = [row for width in widths[:-1] for row in (linear(width, adapted=False), _RELU)]
    return (flatten(), *hidden, linear(widths[-1], adapted=False), loss())


def stage(count: int, width: int) -> Rows:
    """Return a stage of VGG: 3x3 convolutions and a pool."""
    return (block((*(conv(width, 3, padding=1), _RELU) * count, pool(2, 2))),)


def normed(width: int, kernel: int, stride: int = 1, padding: int = 0) -> Rows:
    """Return a convolution without bias and its batch normalisation."""
    return (conv(width, kernel, stride, padding, bias=False), norm("batch"))


def bottleneck(width: int, stride: int = 1, *, first: bool = False) -> Rows:
    """Return a block of ResNet; the first of a stage has a convolution beside it."""
    body = (*normed(width, 1), _RELU, *normed(width, 3, stride, 1), _RELU, *normed(4 * width, 1))
    return (block((residual(body, normed(4 * width, 1, stride) if first else ()), _RELU)),)


def twice(width: int) -> Rows:
    """Return the two convolutions of a level of the U-Net for segmentation."""
    return (block((*normed(width, 3, padding=1), _RELU) * 2),)


def resblock(width: int, of_time: int) -> Rows:
    """Return two convolutions of the denoising U-Net of a latent diffusion model, shifted by a time embedding of a width."""
    start = (norm("group", 32), function("silu"))
    return (block((residual((*start, conv(width, 3, padding=1), shift(of_time), *start, conv(width, 3, padding=1)), matched=True),)),)


def textblock(width: int, heads: int, tokens: int, of_text: int) -> Rows:
    """Return that U-Net's attention to its own pixels and to the tokens of a text, vectors of a width."""
    attend = (
        residual((norm("layer"), attention(heads, bias=False))),
        residual((norm("layer"), attention(heads, bias=False, context=(tokens, of_text)))),
        residual((norm("layer"), gated(4 * width, "gelu", bias=True))),
    )
    return (block((residual((norm("group", 32), conv(width, 1), flatten(tokens=True), *attend, image(), conv(width, 1))),)),)


_LAYERS = (conv, function, norm, pool, poolto, upsample, branch, join, time, loss)
_PARTS = (dense, stage, normed, bottleneck, twice, resblock, textblock)
KINDS: dict[str, Callable[..., Row | Rows]] = {one.__name__: one for one in (*_LAYERS, *_PARTS)}
"""By the names that models.json has for them."""
