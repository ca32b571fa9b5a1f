"""What a GPU is enough for, in one line."""

from __future__ import annotations

import msgspec

from gpudoctor.digits import digits
from gpudoctor.fit.accounting import RESERVE, memory
from gpudoctor.fit.asked import PRECISIONS, Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import NOTHING, Model

_SYSTEM_MIB, _RULE_BYTES = 400, 4 * 2
"""The rule of thumb: 400 MiB for the system, and each parameter twice in FP32."""
_BARE = Model(name="", way="formula", parameters=10**6, trainable=10**6, full=NOTHING, half=NOTHING)
_VOLTA, _TURING = (7, 0), (7, 5)


def suitability(card: Card) -> str:
    """Return the precisions of its tensor cores, its memory bandwidth, and the largest models, before activations."""
    cores = tensor_cores(card)
    half = next((name for name in ("bf16", "fp16") if name.upper() in cores), "fp32")
    trains = parameters(card, Asked(precision=half))
    bandwidth = f", {card.bandwidth / 1e9:,.0f} GB/s" if card.bandwidth else ""
    unsure = " known" * (not cores and not (card.capability and card.capability < _VOLTA))
    adapted = max(0, card.available - RESERVE) // PRECISIONS[half].bytes
    return (
        f"{_listed(cores) if cores else 'no'} tensor cores{unsure}{bandwidth}; before activations, AdamW trains up to "
        f"{billions(trains)} parameters in {half.upper()} and LoRA up to {billions(adapted)}"
    )


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if words[1:] else words[0]


def tensor_cores(card: Card) -> tuple[str, ...]:
    """Return the precisions of its tensor cores; of Turing's chips only some have any, those with a published rate."""
    capability = card.capability or (0, 0)
    if capability < _VOLTA or (capability == _TURING and "fp16" not in card.flops):
        return ()
    return tuple(name.upper() for name in ("fp16", "bf16", "tf32", "fp8") if PRECISIONS[name].capability <= capability)


def parameters(card: Card, asked: Asked) -> int:
    """Return how many parameters can be trained, all of them, before activations."""
    counted = memory(_BARE, msgspec.structs.replace(asked, lora=0, infer=False, weights=""), 1)
    return max(0, card.available - counted.reserve) * _BARE.parameters // (counted.total - counted.reserve)


def parameters_by_rule(card: Card) -> int:
    """Return how many parameters fit by the rule of thumb: (MiB - 400) 2^20 / (4 x 2)."""
    return max(0, (card.total >> 20) - _SYSTEM_MIB) * (1 << 20) // _RULE_BYTES


def billions(count: int) -> str:
    """Return a number of parameters as people write it: "6.74B", "25.6M"."""
    size, letter = next(((size, letter) for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "K")) if count >= size), (1, ""))
    return f"{digits(count / size)}{letter}"
