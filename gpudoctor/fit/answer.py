"""Whether a run fits on a GPU: the memory, the largest batch, what to change, the speed."""

from __future__ import annotations

import msgspec

from gpudoctor.fit.accounting import Memory, largest_batch, memory
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.changes import Change, changes
from gpudoctor.fit.model import Model
from gpudoctor.fit.speed import Speed, speed


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run fits on a GPU."""

    card: Card
    fits: bool | None
    """None: not known, since the activations are not."""
    batch: int
    """The batch that `memory` is for: the one asked for, or the largest, or 1."""
    largest: int | None
    memory: Memory | None
    changes: tuple[Change, ...] = ()
    speed: Speed | None = None
    refused: str = ""
    """Why the GPU cannot compute so, whatever its memory."""


def answer(model: Model, asked: Asked, card: Card) -> Answer:
    """Return whether a run fits on a GPU."""
    oldest, unknown = asked.numbers.capability, Answer(card=card, fits=None, batch=asked.batch or 1, largest=None, memory=None)
    if not card.computes(oldest):
        why = f"it has no {asked.precision.upper()}, which came with compute capability {oldest[0]}.{oldest[1]}"
        return msgspec.structs.replace(unknown, fits=False, largest=0, refused=why)
    largest = largest_batch(model, asked, card.available)
    if not (model.full or model.half):
        return unknown if largest else msgspec.structs.replace(unknown, fits=False)
    batch = asked.batch or max(largest, 1)
    fits = batch <= largest
    return Answer(
        card=card,
        fits=fits,
        batch=batch,
        largest=largest,
        memory=memory(model, asked, batch),
        changes=() if fits else changes(model, asked, card, batch),
        speed=speed(model, asked, card, batch) if fits else None,
    )
