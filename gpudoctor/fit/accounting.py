"""The memory that a run needs on each GPU, by part, and the largest batch that fits."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.asked import OPTIMIZERS, SHARDINGS, Asked
from gpudoctor.fit.model import Activations, Affine, Model

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
    """Bytes on each GPU at the peak of a step, by part."""

    weights: int
    gradients: int
    optimizer: int
    master_copies: int
    activations: int
    workspace: int
    reserve: int
    fragmentation: int

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(msgspec.structs.astuple(self))


class NotCountedError(Exception):
    """The activations are unknown, so the memory is."""


def trained(model: Model, asked: Asked) -> int:
    """Return how many parameters are trained. Raises UsageError for LoRA on a model without known matrices."""
    if not asked.lora:
        return model.trainable
    adapters = sum(one.count * asked.lora * (one.rows + one.columns) for one in model.projections if one.adapted)
    if not adapters:
        raise UsageError(f"{model.name} has no linear layers that are known for LoRA; leave out --lora.")
    return adapters


def memory(model: Model, asked: Asked, batch: int) -> Memory:
    """Return the memory for a batch on each GPU. Raises NotCountedError if the activations are unknown."""
    held = _held(model, asked)
    if asked.infer:
        activations = held.inference.at(batch) + asked.numbers.bytes * model.cache_elements * batch
        return _memory(asked, weights=asked.numbers.bytes * model.parameters + model.buffers, activations=activations)
    optimizer, sharding = OPTIMIZERS[asked.optimizer], SHARDINGS[asked.shard]
    count = trained(model, asked)
    weights = asked.numbers.bytes * (model.parameters + (count if asked.lora else 0))
    gathered = 2 * asked.numbers.bytes * (model.largest_block or model.parameters)
    gradients = _WHOLE * count * (1 + sharding.copies * (asked.gpus > 1))
    masters = _WHOLE * (count if asked.lora else model.parameters) * asked.halved
    state = _adafactor(model, count, asked) if optimizer.factored else optimizer.state * count
    masters, state = (0, 0) if asked.offload else (masters, state)
    activations = (held.checkpointed.at(batch) + held.recomputed.at(batch)) if asked.checkpointing else held.kept.at(batch)
    casts = weights if asked.halved and not asked.lora else 0  # freed before the optimizer's step
    temporary = 0 if asked.offload else _share(optimizer.temporary * count, asked, shared=sharding.optimizer)
    return _memory(
        asked,
        weights=min(weights, _share(weights, asked, shared=True) + gathered) + model.buffers
        if sharding.weights
        else weights + model.buffers,
        gradients=_share(gradients, asked, shared=sharding.gradients),
        optimizer=_share(state, asked, shared=sharding.optimizer),
        master_copies=_share(masters, asked, shared=sharding.optimizer),
        activations=activations,
        workspace=max(held.transient.at(batch), temporary - activations - casts),
    )


def largest_batch(model: Model, asked: Asked, available: int) -> int:
    """Return the largest batch on each GPU that fits into so many bytes; 0: not even one sample."""
    return bisect_right(range(1, _MOST), available, key=lambda batch: memory(model, asked, batch).total)


def _held(model: Model, asked: Asked) -> Activations:
    """Return the activations in the precision, by those in the other width if need be."""
    known, other = (model.half, model.full) if asked.halved else (model.full, model.half)
    if known is not None:
        return known
    if other is None:
        raise NotCountedError
    numerator, denominator = (1, 2) if asked.halved else (2, 1)
    scaled = (
        Affine(line.per_sample * numerator // denominator, line.fixed * numerator // denominator) for line in msgspec.structs.astuple(other)
    )
    return Activations(**dict(zip(Activations.__struct_fields__, scaled, strict=True)))


def _adafactor(model: Model, count: int, asked: Asked) -> int:
    """Return the bytes of Adafactor's state: rows and columns of matrices, and all that is in none."""
    if asked.lora:
        return _WHOLE * sum(one.count * (one.rows + one.columns + 2 * asked.lora) for one in model.projections if one.adapted)
    factored = sum(one.count * one.rows * one.columns for one in model.projections)
    return _WHOLE * (max(count - factored, 0) + sum(one.count * (one.rows + one.columns) for one in model.projections))


def _share(size: int, asked: Asked, *, shared: bool) -> int:
    return -(-size // asked.gpus) if shared else size


def _memory(
    asked: Asked,
    *,
    weights: int,
    activations: int,
    gradients: int = 0,
    optimizer: int = 0,
    master_copies: int = 0,
    workspace: int = 0,
) -> Memory:
    return Memory(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        master_copies=master_copies,
        activations=activations,
        workspace=workspace,
        reserve=RESERVE + NCCL_RESERVE * (asked.gpus > 1),
        fragmentation=round(FRAGMENTATION * (activations + workspace)),
    )
