"""What is known of a model: parameters, FLOPs and what a step keeps for its backward pass. Sizes are bytes, FLOPs count a multiply-add as 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec


class LinearInBatch(msgspec.Struct, frozen=True):
    """A quantity that grows linearly with the batch."""

    per_sample: int
    fixed: int = 0

    def at(self, batch: int) -> int:
        """Its value for a batch."""
        return self.fixed + self.per_sample * batch


class Activations(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that a training step holds beside parameters, gradients and optimizer state, in one width of numbers."""

    kept: LinearInBatch
    """Distinct storages saved for backward by model and loss, without parameters, buffers and cast copies of parameters."""
    frozen: int = 0
    """The part of it, per sample, that is kept only to train weights that LoRA freezes."""
    adapted: int = 0
    """What adapters of rank 1 keep per sample."""
    uncast: int = 0
    """The part of it, per sample, by which layers that autocast leaves in FP32 keep more than with weights in 16 bits."""
    checkpointed: LinearInBatch
    """The part of it that remains if every block is recomputed: what is outside of blocks, and each block's input. Without blocks: `kept`."""
    recomputed: LinearInBatch = LinearInBatch(0)
    """The most that one block keeps while it is recomputed, beyond `transient`."""
    transient: LinearInBatch = LinearInBatch(0)
    """The most that is alive at once beyond `kept`, and beyond `checkpointed`: outputs that are not kept, and their gradients."""
    inference: LinearInBatch = LinearInBatch(0)
    """The most that is alive at once in a forward pass without gradients."""
    moved: int = 0
    """What the layers of a forward pass read and write, per sample; 0: unknown."""


NO_ACTIVATIONS = Activations(kept=LinearInBatch(0), checkpointed=LinearInBatch(0))


PeakMoments = tuple[tuple[float, float], ...]
"""Moments of backward: the shares of activations and workspace still alive, and of gradients already there."""

ALL_TOGETHER: PeakMoments = ((1.0, 1.0),)
"""All activations beside all gradients: the safe side, and true where gradients are accumulated over several steps."""


def peak_moments(points: Iterable[tuple[int, int]]) -> PeakMoments:
    """Return the moments that can be the peak, by bytes of activations and parameters with gradients: the convex hull of the points."""
    hull: list[tuple[int, int]] = []
    for point in sorted(set(points), reverse=True):
        if hull and point[1] <= hull[-1][1]:
            continue
        while hull[1:] and _is_below(hull[-1], hull[-2], point):
            hull.pop()
        hull.append(point)
    return tuple((alive / (hull[0][0] or 1), present / (hull[-1][1] or 1)) for alive, present in hull)


def _is_below(point: tuple[int, int], left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Return whether a point is on or below the line between two others."""
    return (point[0] - left[0]) * (right[1] - left[1]) <= (point[1] - left[1]) * (right[0] - left[0])


class Projection(msgspec.Struct, frozen=True):
    """Weight matrices of one shape."""

    rows: int
    columns: int
    count: int = 1
    adapted: bool = True
    """Whether LoRA adds an adapter: to linear layers inside blocks, not to embeddings and the output layer."""

    @property
    def parameters(self) -> int:
        """The weights in them all."""
        return self.count * self.rows * self.columns

    def adapter_parameters(self, rank: int) -> int:
        """Return the parameters of a column and a row for each of them, so many times."""
        return self.count * rank * (self.rows + self.columns)


def grouped_projections(matrices: Iterable[tuple[int, int, bool]]) -> tuple[Projection, ...]:
    """Return matrices by rows, columns and whether they are adapted, those of one shape together."""
    return tuple(Projection(rows, columns, count, adapted) for (rows, columns, adapted), count in Counter(matrices).items())


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model, for one sample of a stated shape."""

    name: str
    """As the user named it: "resnet50", "config.json", "train:build"."""
    sample: str = ""
    """What one sample is: "image 3x224x224", "1024 tokens"; empty: unknown."""
    traced_by: str = ""
    """The framework that it was traced in, and how: "torch 2.9.0, traced on the CPU"; empty: counted by formula."""
    parameters: int
    """Each shared parameter once."""
    trainable: int
    buffers: int = 0
    """Bytes of state that is not trained, such as running means."""
    projections: tuple[Projection, ...] = ()
    """For LoRA and Adafactor. Empty: LoRA cannot be counted."""
    largest_block: int = 0
    """Parameters of the largest block, which sharded parameters are gathered for; 0: unknown, so all of them."""
    outside: int = 0
    """Parameters outside of blocks."""
    looked_up: int = 0
    """Those of embeddings that no matmul reads, so autocast makes no copy of them."""
    forward_flops: int | None = None
    """Per sample: matmul, convolution and attention only. None: unknown."""
    step_flops: int | None = None
    """Per sample: forward and backward."""
    block_flops: int = 0
    """Per sample: the forward FLOPs that checkpointing repeats."""
    sample_bytes: int = 0
    """What is copied to the GPU per sample."""
    scores: int = 0
    """Numbers per sample that attention keeps if it is not fused: a score for each head and pair of tokens."""
    cache_elements: int = 0
    """Keys and values that generating text keeps per sample; 0: it does not generate."""
    full: Activations | None = None
    """In FP32 or TF32. None: unknown, such as for a file that has shapes of parameters only."""
    half: Activations | None = None
    """In BF16 or FP16 under autocast, with FP32 parameters."""
    fp8: Activations | None = None
    """As `half`, but linear layers of blocks keep their inputs in FP8."""
    backward: PeakMoments = ALL_TOGETHER
    """The moments of backward that can be the peak."""
    source: str = ""
    """Where its shapes are published."""
    stored: str = ""
    """The type in which its weights are stored, as its config.json names it; empty: unknown."""
    assumptions: tuple[str, ...] = ()
    """What was assumed of it, in sentences."""

    @property
    def counted(self) -> bool:
        """Whether its activations are known."""
        return bool(self.full or self.half)

    @property
    def adapted(self) -> tuple[Projection, ...]:
        """The linear layers of blocks, which LoRA adapts, 4 bits pack and FP8 computes."""
        return tuple(projection for projection in self.projections if projection.adapted)

    @property
    def weights_in_adapted(self) -> int:
        """The weights in them."""
        return sum(projection.parameters for projection in self.adapted)
