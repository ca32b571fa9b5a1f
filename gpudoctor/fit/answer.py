"""Whether a run fits on a GPU: the memory, the largest batch, what to change, the speed."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.fit.accounting import largest_batch, peak_memory
from gpudoctor.fit.card import Card
from gpudoctor.fit.changes import Change, changes_to_fit
from gpudoctor.fit.model import Model
from gpudoctor.fit.run_options import Asked
from gpudoctor.fit.speed import Speed, speed_of_run
from gpudoctor.schema_fields import means


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one GPU."""

    fits: Annotated[bool | None, means("Whether the run fits. null: activations are unknown.")] = None
    why: Annotated[str, means("Why it cannot compute so, whatever its memory; empty if it can.")] = ""
    batch: Annotated[int, means("The batch on each GPU that the memory is for.")]
    largest_batch: Annotated[int | None, means("The largest batch on each GPU that fits; 0: none. null: activations are unknown.")] = None
    needed_bytes: Annotated[int | None, means("The sum of the parts. null: unknown.")] = None
    memory: Annotated[dict[str, int] | None, means("Bytes by part, at the peak of a step.")] = None
    peak: Annotated[str | None, means("The moment of the peak, a phrase. null: unknown.", "in the optimizer step")] = None
    changes: Annotated[tuple[Change, ...], means("What to change where it does not fit: what is enough alone first.")] = ()
    speed: Annotated[Speed | None, means("null: it does not fit, or FLOPs or rates are unknown.")] = None


def fit_answer(model: Model, asked: Asked, card: Card, samples: int | None = None, price: float | None = None) -> Answer:
    """Return whether a run fits on a GPU, and how long so many samples take at a price per GPU and hour."""
    if why := _missing_capability(asked, card):
        return Answer(fits=False, why=why, batch=asked.batch or 1, largest_batch=0)
    largest = largest_batch(model, asked, card.available)
    if not model.counted:
        return Answer(fits=None if largest else False, batch=asked.batch or 1)
    batch = asked.batch or max(largest, 1)
    fits, needed = batch <= largest, peak_memory(model, asked, batch)
    return Answer(
        fits=fits,
        batch=batch,
        largest_batch=largest,
        needed_bytes=needed.total,
        memory=needed.present,
        peak=needed.moment,
        changes=() if fits else changes_to_fit(model, asked, card, batch),
        speed=speed_of_run(model, asked, card, batch, samples=samples, price=price) if fits else None,
    )


def is_fitting(model: Model, asked: Asked, card: Card) -> bool:
    """Return whether a run is known to fit on a GPU, and no more: it takes a hundredth of the time of an answer."""
    return model.counted and not _missing_capability(asked, card) and peak_memory(model, asked, asked.batch or 1).total <= card.available


def _missing_capability(asked: Asked, card: Card) -> str:
    """Return what the GPU lacks for the precision, a clause; "" if nothing is known to be missing."""
    least = asked.numbers.capability
    if card.has_capability(least):
        return ""
    what = f"{asked.precision.upper()}{' tensor cores' * (asked.precision == 'fp8')}"
    return f"it has no {what}, which came with compute capability {least[0]}.{least[1]}"
