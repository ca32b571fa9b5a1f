"""What the layers of a network add up to, for one sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

from gpudoctor.fit.model import Activations, LinearInBatch, PeakMoments, peak_moments

FULL_BYTES, HALF_BYTES, FP8_BYTES = 4, 2, 1 + 1 / 32
"""Bytes of a number in FP32, in BF16 or FP16, and in FP8 with a scale of a byte for 32 as in MXFP8. Scales of whole tensors need less."""
INDEX_BYTES = 8
"""Bytes of an index: of a token, a label, a maximum."""


class Tensor(NamedTuple):
    """A tensor of one sample."""

    number: int
    block: int
    """The number of the block that makes it; 0: none."""
    shape: tuple[int, ...]
    grad: bool = False
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
        return self.size * (FULL_BYTES if self.wide else width)


class LayerTally:
    """What was counted so far, in numbers of one width; the inputs of adapted linear layers perhaps in FP8."""

    def __init__(self, width: int = FULL_BYTES, *, fp8: bool = False) -> None:
        self.width, self._narrow, self.fp8 = width, width, fp8
        self.parameters = self.buffers = self.looked_up = self.largest_block = self.scores = self.cache_elements = 0
        self.forward_flops = self.step_flops = self.block_flops = self.in_blocks = self.adapted = self.tied = self.frozen = 0
        self.matrices: Counter[tuple[int, int, bool]] = Counter()
        """How many weight matrices have these rows and columns, and are adapted by LoRA or are not."""
        self.branches: list[Tensor] = []
        """Those that wait to be joined."""
        self.beside: dict[str, tuple[int, int]] = {}
        """The shapes of further inputs."""
        self.context = Tensor(0, 0, ())
        """What crossed attention reads."""
        self._held: list[Tensor] = []
        """What callers of the layers hold."""
        self._kept: dict[tuple[int, bool], tuple[int, int]] = {}
        """The bytes of each kept tensor and its block, by its number and whether it is in FP32 under autocast."""
        self._lasting: set[tuple[int, bool]] = set()
        """Those that backward needs although LoRA freezes the weights."""
        self._outer: set[int] = set()
        """The numbers of those that are needed outside of the block that makes them."""
        self._fixed: Counter[int] = Counter()
        """By block, the bytes kept for any batch."""
        self._entries: list[Tensor] = []
        """What each block reads."""
        self._sum = self._moved = self._made = self._working = self._before = self._block = self._uncast = 0
        self._alive: list[tuple[int, int]] = []
        """For each layer, the bytes that are alive in its backward, and the parameters of the layers before it."""

    def input_tensor(self, shape: tuple[int, ...]) -> Tensor:
        """Return a tensor that is an input: it has no gradient."""
        self._made += 1
        return Tensor(self._made, self._block, shape)

    def output_tensor(
        self, x: Tensor, shape: tuple[int, ...], parameters: int = 0, *, wide: bool | None = None, head: bool = False
    ) -> Tensor:
        """Return a layer's output, as wide as its input unless stated, and count the parameters that are in no matrix.

        Of the head of a model that generates text, inference makes the scores of one token only.
        """
        y = self.input_tensor(shape)._replace(grad=True, wide=x.wide if wide is None else wide)
        self.note_together(x, *[y] * (not (head and self.cache_elements)))
        self._alive.append((self._sum + x.bytes(self.width) + y.bytes(self.width), self._before))
        self._moved += x.bytes(self.width) + y.bytes(self.width)
        self.parameters += parameters
        self._before = self.parameters
        return y

    def note_together(self, *tensors: Tensor) -> None:
        """Note tensors that are alive at once in a forward pass without gradients, beside those that are held."""
        sizes = {tensor.number: tensor.size for tensor in (*self._held, *tensors)}
        self._working = max(self._working, sum(sizes.values()))

    def hold(self, tensor: Tensor) -> Tensor:
        """Return the tensor; it stays alive until the end of the forward pass."""
        self._held.append(tensor)
        return tensor

    @contextmanager
    def keeping_alive(self, tensor: Tensor) -> Iterator[None]:
        """Note that a tensor stays alive while layers run, because who calls them has a reference to it."""
        held = len(self._held)
        self._held.append(tensor)
        yield
        del self._held[held]

    def keep(self, tensor: Tensor, *, wide: bool = False, trains: bool = False, width: float = 0) -> None:
        """Count a tensor that backward needs, once; `wide`: under autocast in FP32; `trains`: only to train weights that LoRA freezes."""
        key = tensor.number, self.width == HALF_BYTES and (wide or tensor.wide)
        if not trains:
            self._lasting.add(key)
        if tensor.block != self._block:
            self._outer.add(tensor.number)
        if key not in self._kept:
            size = round((tensor.whole or tensor.size) * (width or (FULL_BYTES if key[1] else self.width)))
            self._kept[key] = size, tensor.block
            self._sum += size
            self._uncast += size // 2 * (self.width > self._narrow)

    def read(self, tensor: Tensor, *, trains: bool = False, in_fp8: bool = False) -> None:
        """Count what a matmul's backward needs of its input: each makes its own copy in FP8, and under autocast of one in FP32."""
        if in_fp8 and self.fp8:
            self.keep(self.input_tensor(tensor.shape), trains=True, width=FP8_BYTES)
        else:
            self.keep(self.input_tensor(tensor.shape) if self.width == HALF_BYTES and tensor.wide else tensor, trains=trains)

    def alive(self, count: int) -> None:
        """Note bytes that are alive at once, in any precision, beside what was kept so far."""
        self._alive.append((self._sum + count, self.parameters))

    @contextmanager
    def uncast(self) -> Iterator[None]:
        """Count grouped matmuls, which autocast leaves in the precision of their weights: https://github.com/pytorch/pytorch/issues/174763."""
        self.width = self.width if self.fp8 else FULL_BYTES
        yield
        self.width = self._narrow

    def bytes(self, count: int, *, fixed: int = 0) -> None:
        """Count bytes that backward needs in any precision, and those that do not grow with the batch."""
        self.keep(self.input_tensor((count,)), width=1)
        self._fixed[self._block] += fixed

    def matrix(self, rows: int, columns: int, *, adapted: bool, count: int = 1) -> None:
        """Count weight matrices."""
        self.parameters += count * rows * columns
        self.matrices[rows, columns, adapted] += count

    def multiply(self, flops: int, backward: float) -> None:
        """Count a product's FLOPs, and how many times as many backward has."""
        self.forward_flops += flops
        self.step_flops += flops + round(flops * backward)

    @contextmanager
    def block(self, entry: Tensor) -> Iterator[None]:
        """Note what is in a block."""
        self._entries.append(entry)
        self._outer.add(entry.number)
        self._block, parameters, forward = len(self._entries), self.parameters, self.forward_flops
        with self.keeping_alive(entry):
            yield
        self._block = 0
        self.largest_block = max(self.largest_block, self.parameters - parameters)
        self.in_blocks += self.parameters - parameters
        self.block_flops += self.forward_flops - forward

    @property
    def moments(self) -> PeakMoments:
        """The moments of backward that can be its peak. A tied matrix has its gradient from the output layer on."""
        return peak_moments(
            (alive, self.parameters - before + (before < self.parameters) * min(before, self.tied)) for alive, before in self._alive
        )

    @property
    def activations(self) -> Activations:
        """What a step holds."""
        inside: Counter[int] = Counter()
        for (number, _), (size, block) in self._kept.items():
            inside[block] += size * (number not in self._outer)
        blocks = range(1, len(self._entries) + 1)
        outside = self._sum - sum(inside[block] for block in blocks)
        known = {number for number, _ in self._kept}
        entries = sum(entry.bytes(self.width) for entry in self._entries if entry.number not in known)
        transient = max(0, *(alive - self._sum for alive, _ in self._alive))
        most, most_fixed = (max((counted[block] for block in blocks), default=0) for counted in (inside, self._fixed))
        return Activations(
            kept=LinearInBatch(self._sum, self._fixed.total()),
            frozen=sum(size for key, (size, _) in self._kept.items() if key not in self._lasting),
            adapted=self.width * self.adapted,
            uncast=self._uncast,
            checkpointed=LinearInBatch(outside + entries, self._fixed[0]),
            recomputed=LinearInBatch(max(0, most - transient), most_fixed),
            transient=LinearInBatch(transient),
            inference=LinearInBatch(self.width * self._working),
            moved=self._moved,
        )
