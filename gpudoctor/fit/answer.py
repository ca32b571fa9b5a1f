"""Whether a run fits on a GPU: the memory, the largest batch, what to change, the speed."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.fit.accounting import largest_batch, memory
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.changes import Change, changes
from gpudoctor.fit.model import Model
from gpudoctor.fit.speed import Speed, speed
from gpudoctor.schema_fields import means


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one GPU."""

    name: Annotated[str, means("The GPU.")]
    fits: Annotated[bool | None, means("Whether the run fits. null: activations are unknown.")] = None
    why: Annotated[str, means("Why it cannot compute so, whatever its memory; empty if it can.")] = ""
    observed: Annotated[bool, means("Whether available_bytes were free on this machine; otherwise they are assumed by the nominal size.")]
    total_bytes: Annotated[int, means("Its memory.")]
    available_bytes: Annotated[int, means("What a program can use.")]
    batch: Annotated[int, means("The batch on each GPU that the memory is for.")]
    largest_batch: Annotated[int | None, means("The largest batch on each GPU that fits; 0: none. null: activations are unknown.")] = None
    needed_bytes: Annotated[int | None, means("The sum of the parts. null: unknown.")] = None
    memory: Annotated[dict[str, int] | None, means("Bytes by part, at the peak of a step.")] = None
    peak: Annotated[str | None, means("The moment of the peak, a phrase. null: unknown.", "in the optimizer step")] = None
    changes: Annotated[tuple[Change, ...], means("What to change where it does not fit: what is enough alone first.")] = ()
    speed: Annotated[Speed | None, means("null: it does not fit, or FLOPs or rates are unknown.")] = None
    suitability: Annotated[str, means("What the GPU is enough for, in a phrase.")]
    note: Annotated[str, means("What the tables say of it, a phrase; empty: nothing.", "two GPUs on a board")] = ""
    rule_of_thumb_parameters: Annotated[int, means("Parameters that fit by the rule of thumb: (MiB - 400) * 2^20 / (4 * 2).")]
    countable_parameters: Annotated[int, means("Parameters that fit by the accounting, all of them trained, before activations.")]
    against_cpu: Annotated[
        dict[str, float], means("How many times as fast as the CPU it trained, by network and batch, if that was measured.")
    ] = {}


def answer(model: Model, asked: Asked, card: Card, samples: int | None = None, price: float | None = None) -> Answer:
    """Return whether a run fits on a GPU, and how long so many samples take at a price per GPU and hour."""
    found = Answer(
        name=card.name,
        observed=card.observed,
        total_bytes=card.total,
        available_bytes=card.available,
        batch=asked.batch or 1,
        suitability=card.suitability,
        note=card.note,
        rule_of_thumb_parameters=card.parameters_by_rule,
        countable_parameters=card.parameters(asked),
        against_cpu={f"{network}, batch {batch}": ratio for (network, batch), ratio in card.against_cpu.items()},
    )
    if why := _lacks(asked, card):
        return msgspec.structs.replace(found, fits=False, largest_batch=0, why=why)
    largest = largest_batch(model, asked, card.available)
    if not model.counted:
        return msgspec.structs.replace(found, fits=None if largest else False)
    batch = asked.batch or max(largest, 1)
    fits, needed = batch <= largest, memory(model, asked, batch)
    return msgspec.structs.replace(
        found,
        fits=fits,
        batch=batch,
        largest_batch=largest,
        needed_bytes=needed.total,
        memory=needed.present,
        peak=needed.moment,
        changes=() if fits else changes(model, asked, card, batch),
        speed=speed(model, asked, card, batch, samples=samples, price=price) if fits else None,
    )


def fits(model: Model, asked: Asked, card: Card) -> bool:
    """Return whether a run is known to fit on a GPU, and no more: it takes a hundredth of the time of an answer."""
    return model.counted and not _lacks(asked, card) and memory(model, asked, asked.batch or 1).total <= card.available


def _lacks(asked: Asked, card: Card) -> str:
    """Return what the GPU lacks for the precision, a clause; "" if nothing is known to be missing."""
    least = asked.numbers.capability
    if card.computes(least):
        return ""
    what = f"{asked.precision.upper()}{' tensor cores' * (asked.precision == 'fp8')}"
    return f"it has no {what}, which came with compute capability {least[0]}.{least[1]}"
