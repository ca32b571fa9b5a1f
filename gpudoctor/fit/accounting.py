"""The memory that a run needs on each GPU, by part, and the largest batch that fits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.model import ALL_TOGETHER, NO_ACTIVATIONS, Activations, LinearInBatch, Model
from gpudoctor.fit.run_options import MAX_SAMPLES, OPTIMIZERS, PACKED_BYTES, SHARDINGS, Asked
from gpudoctor.fit.tally import FP8_BYTES, FULL_BYTES

RESERVED_BYTES = 10**9
"""Bytes of CUDA context, kernels, cuBLAS and cuDNN workspaces: the upper end of the 300 MB to 1 GB in
https://nairr.readthedocs.io/en/latest/resource_guides/gpu_estimation.html"""
NCCL_RESERVED_BYTES = 400 << 20
"""Assumed for NCCL's buffers between several GPUs."""
FRAGMENTATION_SHARE = 0.05
"""The share of activations and workspace that the framework's allocator is assumed to lose."""
_FP8_COPIES = 2
"""Of a weight in training: Transformer Engine keeps it and, for backward, its transpose.

https://github.com/NVIDIA/TransformerEngine/blob/main/transformer_engine/pytorch/module/linear.py
"""


class MemoryByPart(msgspec.Struct, frozen=True, kw_only=True):
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
        return round(FRAGMENTATION_SHARE * (self.activations + self.cache + self.workspace))

    @property
    def parts(self) -> dict[str, int]:
        """The bytes of each part."""
        return {part: getattr(self, part) for part in (*self.__struct_fields__[1:], "fragmentation")}

    @property
    def present(self) -> dict[str, int]:
        """The parts that are not 0."""
        return {part: size for part, size in self.parts.items() if size}

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(self.parts.values())


def adapter_parameters(model: Model, rank: int) -> int:
    """Return how many parameters adapters of this rank have; 0: none can be counted, or they have as many as what they adapt."""
    count = sum(projection.adapter_parameters(rank) for projection in model.adapted)
    return count if count < model.weights_in_adapted else 0


def trained_parameters(model: Model, asked: Asked) -> int:
    """Return how many parameters are trained. Raises UsageError for LoRA on a model without known matrices, or of a rank that saves nothing."""
    if not asked.lora:
        return model.trainable
    if not model.adapted:
        raise UsageError(f"{model.name} has no linear layers that are known for LoRA; leave out --lora.")
    count = adapter_parameters(model, asked.lora)
    if not count:
        raise UsageError(f"--lora {asked.lora:,}: such adapters have no fewer parameters than what they adapt; use a lower rank.")
    return count


def peak_memory(model: Model, asked: Asked, batch: int) -> MemoryByPart:
    """Return the memory for a batch on each GPU, at the moment that needs most."""
    return max(memory_moments(model, asked, batch), key=lambda moment: moment.total)


def memory_moments(model: Model, asked: Asked, batch: int) -> Iterator[MemoryByPart]:
    """Yield the memory at each moment that can be the peak: while gradients replace activations, and as the optimizer uses all of them.

    Autocast's copies of weights are freed layer by layer, as activations are. Unknown activations count nothing.
    """
    held, width = _held_activations(model, asked), asked.numbers.bytes
    reserve = RESERVED_BYTES + NCCL_RESERVED_BYTES * (asked.gpus > 1)
    unpacked = width * max((projection.rows * projection.columns for projection in model.adapted), default=0) * bool(asked.weights)
    if asked.infer:
        yield MemoryByPart(
            moment="in the forward pass",
            weights=_weight_bytes(model, asked) + model.buffers,
            activations=held.inference.at(batch),
            cache=width * model.cache_elements * batch,
            workspace=unpacked,
            reserve=reserve,
        )
        return
    optimizer, sharding, count = OPTIMIZERS[asked.optimizer], SHARDINGS[asked.shard], trained_parameters(model, asked)

    def share(size: float, *, divided: bool) -> int:
        return -(-round(size) // asked.gpus) if divided else round(size)

    weights = _weight_bytes(model, asked) + width * count * bool(asked.lora)
    mixed = asked.numbers.mixed
    casts = weights * (mixed and not asked.lora and not asked.shard)
    divided = 0 if sharding.casts and mixed and not asked.lora else share(weights, divided=sharding.weights)
    gathered = min(weights, divided + width * (model.outside + 2 * (model.largest_block or model.parameters)))
    buckets = asked.trained_bytes * count * sharding.copies * (asked.gpus > 1)
    gradients = share(asked.trained_bytes * count, divided=sharding.gradients)
    masters = FULL_BYTES * (count if asked.lora else model.parameters) * mixed
    narrowed = asked.trained_bytes / FULL_BYTES
    state = (
        _adafactor_bytes(model, count, asked) if optimizer.factored else optimizer.state * count * (1 if optimizer.quantised else narrowed)
    )
    on_gpu = 0 if asked.offload else 1
    always = {
        "reserve": reserve,
        "optimizer": on_gpu * share(state, divided=sharding.optimizer),
        "master_copies": on_gpu * share(masters, divided=sharding.optimizer),
    }
    kept, fewer, recomputed, transient = (line.at(batch) for line in (held.kept, held.checkpointed, held.recomputed, held.transient))
    for alive, present in model.backward if asked.accumulate == 1 else ALL_TOGETHER:
        yield MemoryByPart(
            moment="at the start of backward" if not present else "at the end of backward" if present == 1 > alive else "during backward",
            **always,
            weights=gathered - round(casts * present * (alive < 1)) + model.buffers,
            gradients=round(gradients * present) + buckets,
            activations=min(round(kept * alive), round(fewer * alive) + recomputed) if asked.checkpointing else round(kept * alive),
            workspace=round(transient * alive) + unpacked,
        )
    yield MemoryByPart(
        moment="in the optimizer step",
        **always,
        weights=divided - casts + model.buffers,
        gradients=gradients + buckets,
        workspace=on_gpu * share(optimizer.temporary * narrowed * count, divided=sharding.optimizer),
    )


def _weight_bytes(model: Model, asked: Asked) -> int:
    """Return the bytes of all weights and their copies, without master copies of what is trained. Raises UsageError for 4 bits on a model without known matrices."""
    width = asked.numbers.bytes
    packed = min(model.weights_in_adapted, model.parameters)
    if asked.weights:
        each = PACKED_BYTES[asked.weights]
        if not packed:
            raise UsageError(f"{model.name} has no linear layers that are known to be stored in 4 bits; leave out --weights.")
    elif asked.precision == "fp8":
        each = FP8_BYTES if asked.infer else _FP8_COPIES * FP8_BYTES + width * bool(asked.lora)
    else:
        each = width
    rest = model.parameters - packed
    return round(packed * each) + FULL_BYTES * rest * asked.is_prepared_for_kbit + width * (rest - model.looked_up * asked.is_autocast)


def largest_batch(model: Model, asked: Asked, available: int) -> int:
    """Return the largest batch on each GPU that fits into so many bytes; 0: not even one sample."""
    return bisect_right(range(1, MAX_SAMPLES + 1), available, key=lambda batch: peak_memory(model, asked, batch).total)


def _held_activations(model: Model, asked: Asked) -> Activations:
    """Return the activations in the precision, by those in another width if need be. Adapters read their inputs in BF16, not in FP8."""
    known, other, factor = (model.half, model.full, 0.5) if asked.is_16_bit else (model.full, model.half, 2)
    if asked.precision == "fp8" and not asked.lora:
        known = model.fp8 or known
    if not known and other:  # traced, in one width
        lines = ((name, line) for name, line in msgspec.structs.asdict(other).items() if isinstance(line, LinearInBatch))
        scaled = {name: LinearInBatch(round(line.per_sample * factor), round(line.fixed * factor)) for name, line in lines}
        known = msgspec.structs.replace(NO_ACTIVATIONS, **scaled)
    if not known:
        return NO_ACTIVATIONS
    kept = known.kept.per_sample
    if asked.lora:
        kept += asked.lora * known.adapted - known.frozen
    if asked.lora or asked.shard or not asked.numbers.mixed:  # weights are in 16 bits themselves, not cast for each matmul
        kept -= known.uncast
    return msgspec.structs.replace(known, kept=LinearInBatch(kept, known.kept.fixed))


def _adafactor_bytes(model: Model, count: int, asked: Asked) -> int:
    """Return the bytes of Adafactor's state: rows and columns of matrices, and all that is in none."""
    if asked.lora:
        return FULL_BYTES * sum(projection.adapter_parameters(1) + 2 * projection.count * asked.lora for projection in model.adapted)
    factored = sum(projection.parameters for projection in model.projections)
    return FULL_BYTES * (max(count - factored, 0) + sum(projection.adapter_parameters(1) for projection in model.projections))
