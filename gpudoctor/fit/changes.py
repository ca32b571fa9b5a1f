"""What to change where a run does not fit: each change alone, with what it saves and what it costs, then together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple

import msgspec

from gpudoctor.fit.accounting import adapter_parameters, largest_batch, peak_memory
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import Model
from gpudoctor.fit.run_options import PRECISIONS, SHARDINGS, Asked
from gpudoctor.schema_fields import means

_PROPOSED_RANK = 16
"""Of the adapters that are proposed."""
_PACKED_COST = "less exact and slower; needs bitsandbytes"
_MAX_GPUS = 1024
_MIN_SAVED_SHARE = 0.05
"""The share of what is missing that a change must save."""


class Change(msgspec.Struct, frozen=True):
    """Options that save memory."""

    options: Annotated[str, means("What to add or replace.", "--checkpointing")]
    saved_bytes: Annotated[int, means("On each GPU.")]
    fits: Annotated[bool, means("Whether the run fits with them.")]
    cost: Annotated[str, means("What they cost, in a phrase.")]


class _ChangeStep(NamedTuple):
    """The fields of Asked that a change sets, by the names of their options, and what it costs."""

    fields: dict[str, Any]
    cost: str

    @property
    def options(self) -> str:
        """As they are written: "--batch 4 --checkpointing"."""
        return " ".join(f"--{field}" if value is True else f"--{field} {value}" for field, value in self.fields.items())


def changes_to_fit(model: Model, asked: Asked, card: Card, batch: int) -> tuple[Change, ...]:
    """Return what saves memory: what is enough alone, cheapest first; else what is enough together; then the rest by what it saves; more GPUs."""
    before = peak_memory(model, asked, batch).total
    missing = before - card.available

    def change(steps: Sequence[_ChangeStep]) -> Change:
        now = _options_with_steps(asked, steps)
        saved = before - peak_memory(model, now, now.batch or batch).total
        return Change(" ".join(step.options for step in steps), saved, saved >= missing, "; ".join(step.cost for step in steps))

    def needed(steps: list[_ChangeStep]) -> list[_ChangeStep]:
        for step in reversed(steps):
            without = [one for one in steps if one is not step]
            steps = without if change(without).fits else steps
        return steps

    steps = _proposed_steps(model, asked, card, batch)
    first = [steps[:count] for count in range(len(steps) + 1)]
    alone = [one for one in (change([step]) for step in steps) if one.saved_bytes > _MIN_SAVED_SHARE * missing]
    enough = [one for one in alone if one.fits]
    if not enough:
        together = (_steps_with_batch(model, asked, card, batch, some) for some in first)
        every = next((some for some in together if change(some).fits), steps)
        enough = [one for one in [change(needed(every))] if one.fits]
    rest = sorted((one for one in alone if not one.fits), key=lambda one: -one.saved_bytes)
    if asked.infer or any("--shard" in one.options for one in enough):
        return (*enough, *rest)
    sharded = (
        [*some, step]
        for some in first
        if not change(some).fits
        for step in _sharding_steps(model, _options_with_steps(asked, some), card, batch)
    )
    return (*enough, *rest, *map(change, map(needed, islice(sharded, 1))))


def _options_with_steps(asked: Asked, steps: Iterable[_ChangeStep]) -> Asked:
    return msgspec.structs.replace(asked, **{field: value for step in steps for field, value in step.fields.items()})


def _proposed_steps(model: Model, asked: Asked, card: Card, batch: int) -> list[_ChangeStep]:
    """Return the changes that need no more GPUs, cheapest first."""
    half = next((name for name in ("bf16", "fp16") if card.has_capability(PRECISIONS[name].capability)), "")
    smaller = _largest_accumulated_batch(model, asked, card) if batch > 1 else 0
    trains, plain = not asked.infer, asked.optimizer.removeprefix("fused-")
    adam = trains and plain in {"adam", "adamw"}
    packs = bool(model.adapted) and not asked.weights
    in_4_bits = {**({"precision": "bf16"} if asked.precision == "fp8" else {}), "weights": "4bit"}  # such weights are multiplied in 16 bits
    packed = packs and card.available < 2 * model.parameters
    adapted = {"lora": _PROPOSED_RANK, **(in_4_bits if packed else {})}
    now = peak_memory(model, asked, batch)
    moved = (now.optimizer + now.master_copies) / (1 << 30)
    recomputed = model.block_flops / (model.step_flops or 1)
    steps: list[tuple[object, _ChangeStep]] = [
        (adam and asked.optimizer == plain, _ChangeStep({"optimizer": f"fused-{plain}"}, "costs nothing, fused=True in PyTorch")),
        (half and not asked.is_16_bit, _ChangeStep({"precision": half}, "needs loss scaling" if half == "fp16" else "fewer digits")),
        (asked.gpus > 1 and not SHARDINGS[asked.shard].weights, _ChangeStep({"shard": "fsdp"}, "exchanges weights at each layer")),
        (smaller, _smaller_batch_step(asked, batch, smaller or 1)),
        (trains and recomputed and not asked.checkpointing, _ChangeStep({"checkpointing": True}, f"{recomputed:.0%} more compute")),
        (packs and (asked.lora or asked.infer), _ChangeStep(in_4_bits, _PACKED_COST)),
        (asked.weights == "4bit", _ChangeStep({"weights": "4bit-double"}, "quantises the scales too, bnb_4bit_use_double_quant")),
        (adam, _ChangeStep({"optimizer": "8bit-adam"}, "needs bitsandbytes")),
        (trains and asked.precision == "bf16", _ChangeStep({"precision": "bf16-true"}, "no weights in FP32: rounding loses small updates")),
        (
            trains and adapter_parameters(model, _PROPOSED_RANK) and not asked.lora,
            _ChangeStep(adapted, f"trains adapters only; {_PACKED_COST}" if packed else "trains adapters only"),
        ),
        (moved and not asked.offload, _ChangeStep({"offload": True}, f"{moved:.1f} GiB of host memory, a slower optimizer step")),
    ]
    return [step for applies, step in steps if applies]


def _steps_with_batch(model: Model, asked: Asked, card: Card, batch: int, steps: Sequence[_ChangeStep]) -> list[_ChangeStep]:
    """Return the steps, with a smaller batch if that is needed too and helps."""
    with_them = _options_with_steps(asked, steps)
    fits = peak_memory(model, with_them, with_them.batch or batch).total <= card.available
    smaller = 0 if fits else _largest_accumulated_batch(model, with_them, card)
    return [*steps, _smaller_batch_step(asked, batch, smaller)] if 0 < smaller < batch else [*steps]


def _largest_accumulated_batch(model: Model, asked: Asked, card: Card) -> int:
    """Return the largest batch that fits if the gradients of several are accumulated."""
    return largest_batch(model, asked if asked.infer else msgspec.structs.replace(asked, accumulate=asked.accumulate + 1), card.available)


def _smaller_batch_step(asked: Asked, batch: int, smaller: int) -> _ChangeStep:
    """Return how equal batches of at most this size take the place of one."""
    parts = -(-batch // smaller)
    fields = {"batch": -(-batch // parts)}
    if parts == 1:
        return _ChangeStep(fields, "fewer samples on each")
    if asked.infer:
        return _ChangeStep(fields, f"{parts} batches in turn")
    return _ChangeStep({**fields, "accumulate": asked.accumulate * parts}, f"{parts} batches a step of the optimizer")


def _sharding_steps(model: Model, asked: Asked, card: Card, batch: int) -> Iterator[_ChangeStep]:
    """Yield how it fits on more and more GPUs, twice as many each time: with as many samples in all, else sharded too, either with more batches if need be."""
    gpus = asked.gpus
    while (gpus := 2 * gpus) <= _MAX_GPUS:
        share = -(-batch * asked.gpus // gpus)
        parallel = msgspec.structs.replace(asked, gpus=gpus)
        if share < batch and peak_memory(model, parallel, share).total <= card.available:
            yield _ChangeStep({"gpus": gpus, "batch": share}, f"{gpus} GPUs with fewer samples on each")
            continue
        if share < batch and (smaller := _largest_accumulated_batch(model, parallel, card)):
            more = _smaller_batch_step(asked, share, min(smaller, share))
            yield _ChangeStep({"gpus": gpus, **more.fields}, f"{gpus} GPUs; {more.cost}")
            continue
        divided = {"shard": "fsdp", "gpus": gpus}
        now, cost = msgspec.structs.replace(asked, **divided), f"{gpus} GPUs that exchange weights at each layer"
        if peak_memory(model, now, batch).total <= card.available:
            yield _ChangeStep(divided, cost)
        elif smaller := _largest_accumulated_batch(model, now, card):
            more = _smaller_batch_step(asked, share, min(smaller, share))
            yield _ChangeStep({**divided, **more.fields}, f"{cost}; {more.cost}")
