"""What the layers of a network add up to, for one sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

from gpudoctor.fit.model import Activations, Affine, Moments, corners

FULL, HALF, FP8 = 4, 2, 1 + 1 / 32
"""Bytes of a number in FP32, in BF16 or FP16, and in FP8 with a scale of a byte for 32 as in MXFP8. Scales of whole tensors need less."""
INDEX = 8
"""Bytes of an index: of a token, a label, a maximum."""
_FUSED_BACKWARD = 2.5
"""Attention's backward by its forward FLOPs: five matmuls to two, since the fused kernel computes the scores again.

https://github.com/pytorch/pytorch/blob/main/torch/utils/flop_counter.py
"""


class Tensor(NamedTuple):
    """A tensor of one sample."""

    number: int
    shape: tuple[int, ...]
    grad: bool = True
    """Whether its gradient is computed."""
    wide: bool = False
    """Whether it is in FP32 under autocast, as what normalisations and sums with parameters return."""
    whole: int = 0
    """The numbers of the tensor that it is a part of, and keeps in memory; 0: it is none."""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)

    def bytes(self, width: int) -> int:
        """Return its bytes where numbers have this width."""
        return self.size * (FULL if self.wide else width)


class _Span(NamedTuple):
    """A block: its input, the numbers of the tensors made in it, whether it keeps the last, the bytes kept in any precision, and for any batch."""

    entry: Tensor
    first: int
    last: int
    keeps: bool
    bytes: int
    fixed: int


class Tally:
    """What was counted so far, in numbers of one width; the inputs of adapted linear layers perhaps in FP8."""

    def __init__(self, width: int = FULL, *, fp8: bool = False) -> None:
        self.width, self.fp8 = width, fp8
        self.parameters = self.forward = self.backward = self.buffers = self.fixed = self.cached = self.tied = self.scores = 0
        self.largest_block = self.block_flops = self.adapted = 0
        self.matrices: Counter[tuple[int, int, bool]] = Counter()
        """How many weight matrices have these rows and columns, and are adapted by LoRA or are not."""
        self._kept: dict[tuple[int, bool], int] = {}
        """The bytes of each kept tensor, by its number and whether it is in FP32 under autocast."""
        self._lasting: set[tuple[int, bool]] = set()
        """Those that backward needs although LoRA freezes the weights."""
        self._shared: set[int] = set()
        """The numbers of those that several layers need."""
        self.branches: list[Tensor] = []
        """Those that wait to be joined."""
        self._sum = self._bytes = self._made = self._working = self._before = 0
        self._blocks: list[_Span] = []
        self._alive: list[tuple[int, int]] = []
        """For each layer, the bytes that are alive in its backward, and the parameters of the layers before it."""

    def given(self, shape: tuple[int, ...]) -> Tensor:
        """Return a tensor that is an input: it has no gradient."""
        self._made += 1
        return Tensor(self._made, shape, grad=False)

    def made(self, x: Tensor, shape: tuple[int, ...], parameters: int = 0, *, wide: bool | None = None, head: bool = False) -> Tensor:
        """Return a layer's output, as wide as its input unless stated, and count the parameters that are in no matrix.

        Of the head of a model that generates text, inference makes the scores of one token only.
        """
        y = self.given(shape)._replace(grad=True, wide=x.wide if wide is None else wide)
        self.together(x, *[y] * (not (head and self.cached)))
        self._alive.append((self._sum + x.bytes(self.width) + y.bytes(self.width), self._before))
        self.parameters += parameters
        self._before = self.parameters
        return y

    def together(self, *tensors: Tensor) -> None:
        """Note tensors that are alive at once in a forward pass without gradients."""
        self._working = max(self._working, sum(one.size for one in tensors))

    def keep(self, tensor: Tensor, *, wide: bool = False, trains: bool = False, width: float = 0) -> None:
        """Count a tensor that backward needs, once; `wide`: under autocast in FP32; `trains`: only to train weights that LoRA freezes."""
        key = tensor.number, self.width == HALF and (wide or tensor.wide)
        if not trains:
            self._lasting.add(key)
        if key in self._kept:
            self._shared.add(tensor.number)
        else:
            self._kept[key] = round((tensor.whole or tensor.size) * (width or (FULL if key[1] else self.width)))
            self._sum += self._kept[key]

    def read(self, tensor: Tensor, *, trains: bool = False, in_fp8: bool = False) -> None:
        """Count what a matmul's backward needs of its input: each makes its own copy in FP8, and under autocast of one in FP32."""
        if in_fp8 and self.fp8:
            self.keep(self.given(tensor.shape), trains=True, width=FP8)
        else:
            self.keep(self.given(tensor.shape) if self.width == HALF and tensor.wide else tensor, trains=trains)

    def alive(self, count: int) -> None:
        """Note bytes that are alive at once, in any precision, beside what was kept so far."""
        self._alive.append((self._sum + count, self.parameters))

    def bytes(self, count: int) -> None:
        """Count bytes that backward needs in any precision."""
        self._bytes += count
        self._sum += count

    def matrix(self, rows: int, columns: int, *, adapted: bool, count: int = 1) -> None:
        """Count weight matrices."""
        self.parameters += count * rows * columns
        self.matrices[rows, columns, adapted] += count

    def multiply(self, flops: int, x: Tensor) -> None:
        """Count a product with weights; backward needs the weights' gradient and, unless `x` is an input, that of `x`."""
        self.forward += flops
        self.backward += flops * (1 + x.grad)

    def attend(self, flops: int) -> None:
        """Count the matmuls of attention."""
        self.forward += flops
        self.backward += round(flops * _FUSED_BACKWARD)

    @contextmanager
    def block(self, entry: Tensor) -> Iterator[None]:
        """Note the tensors that are made in a block."""
        before = self._made, self._bytes, self.parameters, self.forward, self.fixed
        yield
        kept = any((self._made, wide) in self._kept for wide in (False, True))
        self._blocks.append(_Span(entry, before[0], self._made, kept, self._bytes - before[1], self.fixed - before[4]))
        self.largest_block = max(self.largest_block, self.parameters - before[2])
        self.block_flops += self.forward - before[3]

    @property
    def moments(self) -> Moments:
        """The moments of backward that can be its peak. A tied matrix has its gradient from the output layer on."""
        return corners(
            (alive, self.parameters - before + (before < self.parameters) * min(before, self.tied)) for alive, before in self._alive
        )

    @property
    def activations(self) -> Activations:
        """What a step holds."""
        inner = [self._inside(block) for block in self._blocks]
        known = {number for number, _ in self._kept}
        entries = sum(block.entry.bytes(self.width) for block in self._blocks if block.entry.number not in known)
        transient = max(0, *(alive - self._sum for alive, _ in self._alive))
        return Activations(
            kept=Affine(self._sum, self.fixed),
            frozen=sum(size for key, size in self._kept.items() if key not in self._lasting),
            adapted=self.width * self.adapted,
            checkpointed=Affine(self._sum - sum(inner) + entries, self.fixed - sum(block.fixed for block in self._blocks)),
            recomputed=Affine(max(0, max(inner, default=0) - transient), max((block.fixed for block in self._blocks), default=0)),
            transient=Affine(transient),
            inference=Affine(self.width * self._working),
        )

    def _inside(self, block: _Span) -> int:
        """Return the bytes kept of what is made in a block; of its output, only if no layer after it needs it."""
        needed = block.last in self._shared or any(block.last == other.entry.number for other in self._blocks)
        numbers = range(block.first + 1, block.last + (block.keeps and not needed))
        return block.bytes + sum(self._kept.get((number, wide), 0) for number in numbers for wide in (False, True))
