"""What to change where a run does not fit: each change alone, with what it saves and what it costs, then together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from gpudoctor.fit.accounting import largest_batch, memory
from gpudoctor.fit.asked import PRECISIONS, Asked, means
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import TOGETHER, Model

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


def changes(model: Model, asked: Asked, card: Card, batch: int) -> tuple[Change, ...]:
    """Return what saves memory: what is enough alone, cheapest first; else what is enough together; then the rest by what it saves; more GPUs."""
    before = memory(model, asked, batch).total
    least = _WORTH * (before - card.available)
    proposed: list[Change] = []
    sharded: list[Change] = []
    for options, fields, cost in _proposed(model, asked, card, batch):
        other = msgspec.structs.replace(asked, **fields)
        after = memory(model, other, other.batch or batch).total
        if before - after > least:
            (sharded if "gpus" in fields else proposed).append(Change(options, before - after, after <= card.available, cost))
    enough = [one for one in proposed if one.fits]
    rest = sorted((one for one in proposed if not one.fits), key=lambda one: -one.saved_bytes)
    return (*(enough or _together(model, asked, card, batch)), *rest, *sharded)


def _proposed(model: Model, asked: Asked, card: Card, batch: int) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield options, the fields they set and what they cost, cheapest first."""
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
    if (gpus := _gpus(model, asked, card, batch)) > 1:
        yield f"--shard fsdp --gpus {gpus}", {"shard": "fsdp", "gpus": gpus}, f"{gpus} GPUs that exchange weights at each layer"


def _accumulated(model: Model, asked: Asked, card: Card) -> int:
    """Return the largest batch whose gradients can be accumulated: all of them are there beside all activations."""
    return largest_batch(msgspec.structs.replace(model, backward=TOGETHER), asked, card.available)


def _batch(batch: int, smaller: int) -> tuple[str, dict[str, Any], str]:
    return f"--batch {smaller}", {"batch": smaller}, f"{-(-batch // smaller)} steps of accumulated gradients for one"


def _gpus(model: Model, asked: Asked, card: Card, batch: int) -> int:
    """Return the fewest GPUs on which it fits sharded, twice as many as now or more; 0: on no number that is tried."""
    count = 2 * asked.gpus
    while count <= _MOST_GPUS:
        if memory(model, msgspec.structs.replace(asked, shard="fsdp", gpus=count), batch).total <= card.available:
            return count
        count *= 2
    return 0


def _together(model: Model, asked: Asked, card: Card, batch: int) -> Iterator[Change]:
    """Yield the cheapest changes that are enough together on as many GPUs; nothing if all of them are not."""

    def changed(steps: Iterable[tuple[str, dict[str, Any], str]]) -> Asked:
        return msgspec.structs.replace(asked, **{field: value for _, fields, _ in steps for field, value in fields.items()})

    def left(steps: Iterable[tuple[str, dict[str, Any], str]]) -> int:
        now = changed(steps)
        return card.available - memory(model, now, now.batch or batch).total

    steps = [step for step in _proposed(model, asked, card, batch) if "gpus" not in step[1]]
    if left(steps) < 0:
        smaller = _accumulated(model, changed(steps), card)
        if not smaller:
            return
        steps.append(_batch(batch, smaller))
    for step in reversed(steps):
        without = [one for one in steps if one is not step]
        steps = without if left(without) >= 0 else steps
    saved = memory(model, asked, batch).total - card.available + left(steps)
    yield Change(" ".join(step[0] for step in steps), saved, fits=True, cost="; ".join(step[2] for step in steps))
