"""How fast a step is: its FLOPs and bytes against what the GPU does in a second, as a range."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.fit.accounting import memory_moments
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import Model
from gpudoctor.fit.run_options import Asked
from gpudoctor.schema_fields import means

PEAK_SHARES = (0.25, 1.15)
"""Shares of the speed that published peaks allow if a step first computes and then moves its bytes. More than 1: caches, and both at once.

Measured were 0.46 to 1.14 in timm's benchmark on four GPUs (https://github.com/huggingface/pytorch-image-models/tree/main/results), and 0.26 to 0.43 for adapters
on a T4, whose power is limited to 70 W (fitcheck-llm 0.3.1, data/measurements).
"""
MEASURED_SHARES = (0.4, 1.15)
"""The same for rates that were measured. The four GPUs reach their peaks in matmul, a T4 0.37 to 0.66 of them, as MATMUL_SHARE of GD909 has it."""
_BACKWARD_PASSES = 2
"""Backward reads and writes about so many times what forward does: what was kept, and the gradients of outputs and inputs."""
_OPTIMIZER_ACCESSES = 6
"""How often a kept activation is written or read in a step where only those are known: about as in transformers, whose layers are all counted."""


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a batch is, forward and backward, with its share of an optimizer step. Ranges are from the fastest that is plausible to the slowest."""

    step_seconds: Annotated[tuple[float, float], means("The time of a step.")]
    samples_per_second: Annotated[tuple[float, float], means("On all GPUs together, without the time to exchange gradients.")]
    bandwidth_share: Annotated[float, means("The share of a step that memory bandwidth limits; 0 to 1.")]
    transfer_seconds: Annotated[float | None, means("To copy a batch from the host. null: the rate is unknown.")]
    transfer_basis: Annotated[str, means("How that rate is known; empty: it is not.", "PCIe 4.0 x16", "measured")]
    input_bytes_per_second: Annotated[tuple[float, float], means("What input must deliver on all GPUs together for that.")]
    token_seconds: Annotated[
        float | None,
        means("At least, to generate a token: weights, keys and values are read once. null: training, or a model that writes no text."),
    ] = None
    measured: Annotated[bool, means("Whether the rates were measured on this GPU; otherwise they are published peaks.")]
    hours: Annotated[tuple[float, float] | None, means("For --samples. null: not asked for.")] = None
    cost: Annotated[tuple[float, float] | None, means("For --samples at --price per GPU and hour. null: not asked for.")] = None


def speed_of_run(model: Model, asked: Asked, card: Card, batch: int, *, samples: int | None, price: float | None) -> Speed | None:
    """Return how fast a step and so many samples are; None if FLOPs or rates are unknown."""
    flops, rate = _flops_per_sample(model, asked), card.flops.get(asked.numbers.peak)
    if not rate and not card.tensor_core_precisions:  # such GPUs compute 16 bits about as fast as FP32
        rate = card.flops.get("fp32")
    if not flops or not rate or not card.bandwidth:
        return None
    low, high = MEASURED_SHARES if card.measured else PEAK_SHARES
    touching = _bytes_moved(model, asked, batch) / card.bandwidth
    whole = flops * batch / rate + touching
    slow, fast = (batch * asked.gpus * share / whole for share in (low, high))
    hours = (samples / fast / 3600, samples / slow / 3600) if samples else None
    read = next(memory_moments(model, asked, batch))
    return Speed(
        step_seconds=(whole / high, whole / low),
        samples_per_second=(slow, fast),
        bandwidth_share=touching / whole,
        transfer_seconds=model.sample_bytes * batch / card.host_rate if card.host_rate else None,
        transfer_basis=card.host_basis,
        input_bytes_per_second=(slow * model.sample_bytes, fast * model.sample_bytes),
        token_seconds=(read.weights + read.cache) / card.bandwidth if asked.infer and model.cache_elements else None,
        measured=card.measured,
        hours=hours,
        cost=(hours[0] * price * asked.gpus, hours[1] * price * asked.gpus) if hours and price else None,
    )


def _flops_per_sample(model: Model, asked: Asked) -> int:
    """Return the FLOPs per sample; adapters save the gradients of the weights."""
    forward, step = model.forward_flops or 0, model.step_flops or 0
    if asked.infer:
        return forward
    return step - forward * bool(asked.lora) + model.block_flops * asked.checkpointing


def _bytes_moved(model: Model, asked: Asked, batch: int) -> int:
    """Return the bytes that a step moves in the GPU's memory."""
    held = [moment.parts for moment in memory_moments(model, asked, batch)]
    most = {part: max(moment[part] for moment in held) for part in held[0]}
    known = model.half if asked.is_16_bit else model.full
    moved = batch * known.moved if known else 0
    if asked.infer:
        return most["weights"] + most["cache"] + (moved or 2 * most["activations"])
    updated = (most["optimizer"] + most["master_copies"]) // asked.accumulate
    passes = 1 + _BACKWARD_PASSES + asked.checkpointing
    return 2 * (most["weights"] + most["gradients"] + updated) + (passes * moved or _OPTIMIZER_ACCESSES * most["activations"])
