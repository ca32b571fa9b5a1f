"""What to change where a run does not fit: each change alone, with what it saves and what it costs, then together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any

import msgspec

from gpudoctor.fit.accounting import largest_batch, memory
from gpudoctor.fit.asked import PRECISIONS, Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import TOGETHER, Model
from gpudoctor.schema_fields import means

_RANK = 16
"""Of the adapters that are proposed."""
_MOST_GPUS = 1024
_WORTH = 0.01
"""The share of what is missing that a change must save."""


class Change(msgspec.Struct, frozen=True):
    """Options that save memory."""

    options: Annotated[str, means("What to add or replace.", "--checkpointing")]
    saved_bytes: Annotated[int, means("On each GPU.")]
    fits: Annotated[bool, means("Whether the run fits with them.")]
    cost: Annotated[str, means("What they cost, in a phrase.")]


_Step = tuple[str, dict[str, Any], str]
"""Options, the fields that they set, and what they cost."""


def changes(model: Model, asked: Asked, card: Card, batch: int) -> tuple[Change, ...]:
    """Return what saves memory: what is enough alone, cheapest first; else what is enough together; then the rest by what it saves; more GPUs."""
    before = memory(model, asked, batch).total
    missing = before - card.available

    def change(steps: Sequence[_Step]) -> Change:
        now = _with(asked, steps)
        saved = before - memory(model, now, now.batch or batch).total
        return Change(" ".join(step[0] for step in steps), saved, saved >= missing, "; ".join(step[2] for step in steps))

    steps = list(_proposed(model, asked, card, batch))
    alone = [one for one in (change([step]) for step in steps) if one.saved_bytes > _WORTH * missing]
    enough = [one for one in alone if one.fits]
    if not enough:
        smaller = 0 if change(steps).fits else _accumulated(model, _with(asked, steps), card)
        every = [*steps, _batch(batch, smaller)] if smaller else steps
        for step in reversed(every):
            without = [one for one in every if one is not step]
            every = without if change(without).fits else every
        enough = [one for one in [change(every)] if one.fits]
    rest = sorted((one for one in alone if not one.fits), key=lambda one: -one.saved_bytes)
    prefixes = (steps[:count] for count in range(len(steps) + 1) if not asked.infer and not change(steps[:count]).fits)
    sharded = ([*prefix, _sharded(gpus)] for prefix in prefixes if (gpus := _gpus(model, _with(asked, prefix), card, batch)))
    return (*enough, *rest, *map(change, islice(sharded, 1)))


def _with(asked: Asked, steps: Iterable[_Step]) -> Asked:
    return msgspec.structs.replace(asked, **{field: value for _, fields, _ in steps for field, value in fields.items()})


def _proposed(model: Model, asked: Asked, card: Card, batch: int) -> Iterator[_Step]:
    """Yield the changes that need no more GPUs, cheapest first."""
    half = next((name for name in ("bf16", "fp16") if card.computes(PRECISIONS[name].capability)), "")
    if half and not asked.halved:
        yield f"--precision {half}", {"precision": half}, "needs loss scaling" if half == "fp16" else "fewer digits"
    if batch > 1 and (smaller := _accumulated(model, asked, card)):
        yield _batch(batch, smaller)
    if asked.infer:
        return
    if model.block_flops and model.step_flops and not asked.checkpointing:
        yield "--checkpointing", {"checkpointing": True}, f"{model.block_flops / model.step_flops:.0%} more compute"
    if asked.optimizer in {"adam", "adamw"}:
        yield "--optimizer 8bit-adam", {"optimizer": "8bit-adam"}, "needs bitsandbytes"
    if not asked.lora and any(one.adapted for one in model.projections):
        yield f"--lora {_RANK}", {"lora": _RANK}, "trains adapters only"
    if not asked.offload:
        moved = memory(model, asked, batch)
        size = (moved.optimizer + moved.master_copies) / (1 << 30)
        if size:
            yield "--offload", {"offload": True}, f"{size:.1f} GiB of host memory, a slower optimizer step"


def _accumulated(model: Model, asked: Asked, card: Card) -> int:
    """Return the largest batch whose gradients can be accumulated: all of them are there beside all activations."""
    return largest_batch(msgspec.structs.replace(model, backward=TOGETHER), asked, card.available)


def _batch(batch: int, smaller: int) -> _Step:
    return f"--batch {smaller}", {"batch": smaller}, f"{-(-batch // smaller)} steps of accumulated gradients for one"


def _sharded(gpus: int) -> _Step:
    return f"--shard fsdp --gpus {gpus}", {"shard": "fsdp", "gpus": gpus}, f"{gpus} GPUs that exchange weights at each layer"


def _gpus(model: Model, asked: Asked, card: Card, batch: int) -> int:
    """Return the fewest GPUs on which it fits sharded, twice as many as now or more; 0: on no number that is tried."""
    counts = (asked.gpus << double for double in range(1, _MOST_GPUS.bit_length()) if asked.gpus << double <= _MOST_GPUS)
    tried = (msgspec.structs.replace(asked, shard="fsdp", gpus=count) for count in counts)
    return next((one.gpus for one in tried if memory(model, one, one.batch or batch).total <= card.available), 0)
