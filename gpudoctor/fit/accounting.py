"""The memory that a run needs on each GPU, by part, and the largest batch that fits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.asked import FOUR_BITS, OPTIMIZERS, SHARDINGS, Asked
from gpudoctor.fit.model import NOTHING, TOGETHER, Activations, Affine, Model

RESERVE = 10**9
"""Bytes of CUDA context, kernels, cuBLAS and cuDNN workspaces: the upper end of the 300 MB to 1 GB in
https://nairr.readthedocs.io/en/latest/resource_guides/gpu_estimation.html"""
NCCL_RESERVE = 400 << 20
"""Assumed for NCCL's buffers between several GPUs."""
FRAGMENTATION = 0.05
"""The share of activations and workspace that the framework's allocator is assumed to lose."""
_WHOLE = 4
"""Bytes of a number in FP32."""
_MOST = 1 << 40
"""The largest batch that is looked for."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on each GPU at a moment of a step, by part."""

    moment: str
    """A phrase: "in the optimizer step"."""
    weights: int
    gradients: int = 0
    optimizer: int = 0
    master_copies: int = 0
    activations: int = 0
    cache: int = 0
    workspace: int = 0
    reserve: int

    @property
    def fragmentation(self) -> int:
        """What the allocator loses."""
        return round(FRAGMENTATION * (self.activations + self.cache + self.workspace))

    @property
    def parts(self) -> dict[str, int]:
        """The bytes of each part."""
        return {part: getattr(self, part) for part in (*self.__struct_fields__[1:], "fragmentation")}

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(self.parts.values())


def trained(model: Model, asked: Asked) -> int:
    """Return how many parameters are trained. Raises UsageError for LoRA on a model without known matrices."""
    if not asked.lora:
        return model.trainable
    adapters = sum(one.count * asked.lora * (one.rows + one.columns) for one in model.projections if one.adapted)
    if not adapters:
        raise UsageError(f"{model.name} has no linear layers that are known for LoRA; leave out --lora.")
    return adapters


def memory(model: Model, asked: Asked, batch: int) -> Memory:
    """Return the memory for a batch on each GPU, at the moment that needs most."""
    return max(moments(model, asked, batch), key=lambda moment: moment.total)


def moments(model: Model, asked: Asked, batch: int) -> Iterator[Memory]:
    """Yield the memory at each moment that can be the peak: while gradients replace activations, and as the optimizer uses all of them.

    Autocast's copies of weights are freed layer by layer, as activations are. Unknown activations count nothing.
    """
    held, width = _held(model, asked), asked.numbers.bytes
    reserve = RESERVE + NCCL_RESERVE * (asked.gpus > 1)
    unpacked = width * max((one.rows * one.columns for one in model.projections if one.adapted), default=0) * bool(asked.weights)
    if asked.infer:
        yield Memory(
            moment="in the forward pass",
            weights=_stored(model, asked) + model.buffers,
            activations=held.inference.at(batch),
            cache=width * model.cache_elements * batch,
            workspace=unpacked,
            reserve=reserve,
        )
        return
    optimizer, sharding = OPTIMIZERS[asked.optimizer], SHARDINGS[asked.shard]
    count = trained(model, asked)
    weights = _stored(model, asked) + width * count * bool(asked.lora)
    gathered = 2 * width * (model.largest_block or model.parameters)
    casts = weights * (asked.halved and not asked.lora and not asked.shard)
    buckets = _WHOLE * count * sharding.copies * (asked.gpus > 1)
    gradients = _share(_WHOLE * count, asked, shared=sharding.gradients)
    masters = _WHOLE * (count if asked.lora else model.parameters) * asked.halved
    state = _adafactor(model, count, asked) if optimizer.factored else round(optimizer.state * count)
    kept, fewer, recomputed, transient = (line.at(batch) for line in (held.kept, held.checkpointed, held.recomputed, held.transient))
    here = not asked.offload
    always = {
        "reserve": reserve,
        "optimizer": here * _share(state, asked, shared=sharding.optimizer),
        "master_copies": here * _share(masters, asked, shared=sharding.optimizer),
    }
    divided = _share(weights, asked, shared=sharding.weights)
    for alive, present in model.backward if asked.accumulate == 1 else TOGETHER:
        yield Memory(
            moment=_named(alive, present),
            **always,
            weights=min(weights, divided + gathered) - round(casts * present * (alive < 1)) + model.buffers,
            gradients=round(gradients * present) + buckets,
            activations=min(round(kept * alive), round(fewer * alive) + recomputed) if asked.checkpointing else round(kept * alive),
            workspace=round(transient * alive) + unpacked,
        )
    temporary = here * _share(optimizer.temporary * count, asked, shared=sharding.optimizer)
    yield Memory(
        moment="in the optimizer step",
        **always,
        weights=divided - casts + model.buffers,
        gradients=gradients + buckets,
        workspace=temporary,
    )


def _stored(model: Model, asked: Asked) -> int:
    """Return the bytes of all weights. Raises UsageError for 4 bits on a model without known matrices."""
    matrices = sum(one.count * one.rows * one.columns for one in model.projections if one.adapted)
    packed = min(matrices, model.parameters) * bool(asked.weights)
    if asked.weights and not packed:
        raise UsageError(f"{model.name} has no linear layers that are known to be stored in 4 bits; leave out --weights.")
    return round(packed * FOUR_BITS) + asked.numbers.bytes * (model.parameters - packed)


def largest_batch(model: Model, asked: Asked, available: int) -> int:
    """Return the largest batch on each GPU that fits into so many bytes; 0: not even one sample."""
    return bisect_right(range(1, _MOST), available, key=lambda batch: memory(model, asked, batch).total)


def _held(model: Model, asked: Asked) -> Activations:
    """Return the activations in the precision, by those in the other width if need be."""
    known, other, factor = (model.half, model.full, 0.5) if asked.halved else (model.full, model.half, 2)
    if not known and other:
        scaled: dict[str, Any] = {
            name: line.times(factor) for name, line in msgspec.structs.asdict(other).items() if isinstance(line, Affine)
        }
        known = Activations(**scaled)
    known = known or NOTHING
    if not asked.lora:
        return known
    kept = known.kept.per_sample - known.frozen + asked.lora * known.adapted
    return msgspec.structs.replace(known, kept=Affine(kept, known.kept.fixed))


def _adafactor(model: Model, count: int, asked: Asked) -> int:
    """Return the bytes of Adafactor's state: rows and columns of matrices, and all that is in none."""
    if asked.lora:
        return _WHOLE * sum(one.count * (one.rows + one.columns + 2 * asked.lora) for one in model.projections if one.adapted)
    factored = sum(one.count * one.rows * one.columns for one in model.projections)
    return _WHOLE * (max(count - factored, 0) + sum(one.count * (one.rows + one.columns) for one in model.projections))


def _share(size: int, asked: Asked, *, shared: bool) -> int:
    return -(-size // asked.gpus) if shared else size


def _named(alive: float, present: float) -> str:
    if not present:
        return "at the start of backward"
    return "at the end of backward" if present == 1 > alive else "during backward"
