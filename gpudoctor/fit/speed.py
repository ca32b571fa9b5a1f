"""How fast a step is: its FLOPs and bytes against what the GPU does in a second, as a range."""

from __future__ import annotations

import msgspec

from gpudoctor.fit.accounting import Memory
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import Model

PEAK_SHARES = (0.25, 0.6)
"""Shares of a published peak that training reaches: assumed, and at most about what Megatron-LM reports, 57 %.

https://github.com/NVIDIA/Megatron-LM, https://arxiv.org/abs/2205.05198
"""
MEASURED_SHARES = (0.4, 0.9)
"""Shares of a measured rate that training reaches, whose matmuls are smaller than those that were measured: assumed."""
_TOUCHES = 4
"""How often a kept activation is written or read in a step: made, read by the next layer, read by backward, and its gradient."""


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """The time of a step on one GPU, in seconds, from the fastest that is plausible to the slowest."""

    fastest: float
    slowest: float
    bandwidth_share: float
    """The share of it that memory bandwidth limits; 0 to 1."""
    transfer: float | None
    """Seconds to copy the batch from the host; None: the rate is unknown. It overlaps with computing if the input is prefetched."""


def speed(model: Model, asked: Asked, card: Card, batch: int, memory: Memory) -> Speed | None:
    """Return how fast a step is; None if FLOPs or rates are unknown."""
    flops, rate = _flops(model, asked), card.flops.get(asked.numbers.peak) or card.flops.get("fp32")
    if not flops or not rate or not card.bandwidth:
        return None
    low, high = MEASURED_SHARES if card.measured else PEAK_SHARES
    computing = flops * batch / rate
    touching = _bytes(memory, asked) / card.bandwidth
    return Speed(
        fastest=(computing + touching) / high,
        slowest=(computing + touching) / low,
        bandwidth_share=touching / (computing + touching),
        transfer=model.sample_bytes * batch / card.host_rate if card.host_rate else None,
    )


def _flops(model: Model, asked: Asked) -> int:
    """Return the FLOPs per sample; adapters save the gradients of the weights."""
    forward, step = model.forward_flops or 0, model.step_flops or 0
    if asked.infer:
        return forward
    return step - forward * bool(asked.lora) + model.block_flops * asked.checkpointing


def _bytes(memory: Memory, asked: Asked) -> int:
    """Return the bytes that a step moves in the GPU's memory."""
    if asked.infer:
        return memory.weights + 2 * memory.activations
    return 2 * (memory.weights + memory.gradients + memory.optimizer + memory.master_copies) + _TOUCHES * memory.activations
