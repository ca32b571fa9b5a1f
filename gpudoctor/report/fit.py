"""The document gpudoctor.fit/1: whether a model trains on a GPU, with which batch and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.fit.answer import Answer
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.card import Card
from gpudoctor.fit.changes import Change
from gpudoctor.fit.model import Model
from gpudoctor.fit.suitability import parameters, parameters_by_rule, suitability
from gpudoctor.report.build import TOOL
from gpudoctor.report.model import Tool

_ERRORS = {
    "formula": "parameters and FLOPs are exact, activations within 15% for the presets",
    "exact": "parameters are exact; activations within 2% in PyTorch, 17% in Keras, 42% in JAX",
}
"""How far each way is from what frameworks count and save for backward, by scripts/bench/fit."""


def _text(meaning: str, *examples: object) -> msgspec.Meta:
    return msgspec.Meta(description=meaning, examples=list(examples) or None)


class ModelDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the model."""

    name: Annotated[str, _text("As it was named.", "resnet50")]
    sample: Annotated[str, _text("What one sample is.", "image 3x224x224", "2048 tokens")]
    way: Annotated[str, _text("Open: how it was counted.", "formula", "exact")]
    traced_by: Annotated[str, _text("The framework that it was traced in; empty for the formula.")]
    error: Annotated[str, _text("How far this way is from what frameworks count and save, in a phrase.")]
    parameters: Annotated[int, _text("Each shared parameter once.")]
    trainable: Annotated[int, _text("Of the model itself, without adapters.")]
    forward_flops: Annotated[int | None, _text("Per sample; a multiply-add counts 2. null: unknown.")]
    step_flops: Annotated[int | None, _text("Per sample, forward and backward. null: unknown.")]
    source: Annotated[str, _text("Where its shape is published, or the file that was read.")]


class ChangeDocument(msgspec.Struct, frozen=True):
    """Options that save memory."""

    options: Annotated[str, _text("What to add or replace.", "--checkpointing")]
    saved_bytes: Annotated[int, _text("On each GPU.")]
    fits: Annotated[bool, _text("Whether the run fits with them.")]
    cost: Annotated[str, _text("What they cost, in a phrase.")]


class SpeedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a step is. Ranges are from the fastest that is plausible to the slowest."""

    step_seconds: Annotated[tuple[float, float], _text("The time of a step.")]
    samples_per_second: Annotated[tuple[float, float], _text("On all GPUs together, without the time to exchange gradients.")]
    bandwidth_share: Annotated[float, _text("The share of a step that memory bandwidth limits; 0 to 1.")]
    transfer_seconds: Annotated[float | None, _text("To copy a batch from the host. null: the rate is unknown.")]
    measured: Annotated[bool, _text("Whether the rates were measured on this GPU; otherwise they are published peaks.")]
    hours: Annotated[tuple[float, float] | None, _text("For --samples. null: not asked for.")] = None
    cost: Annotated[tuple[float, float] | None, _text("For --samples at --price per GPU and hour. null: not asked for.")] = None


class GpuDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one GPU."""

    name: Annotated[str, _text("The GPU.")]
    fits: Annotated[bool | None, _text("Whether the run fits. null: activations are unknown.")]
    why: Annotated[str, _text("Why it cannot compute so, whatever its memory; empty if it can.")]
    observed: Annotated[bool, _text("Whether available_bytes were free on this machine; otherwise they are assumed by the nominal size.")]
    total_bytes: Annotated[int, _text("Its memory.")]
    available_bytes: Annotated[int, _text("What a program can use.")]
    batch: Annotated[int, _text("The batch on each GPU that the memory is for.")]
    largest_batch: Annotated[int | None, _text("The largest batch on each GPU that fits; 0: none. null: activations are unknown.")]
    needed_bytes: Annotated[int | None, _text("The sum of the parts. null: unknown.")]
    memory: Annotated[dict[str, int] | None, _text("Bytes by part, at the peak of a step.")]
    changes: Annotated[tuple[ChangeDocument, ...], _text("What to change where it does not fit: what is enough alone first.")]
    speed: Annotated[SpeedDocument | None, _text("null: it does not fit, or FLOPs or rates are unknown.")]
    suitability: Annotated[str, _text("What the GPU is enough for, in a phrase.")]
    rule_of_thumb_parameters: Annotated[int, _text("Parameters that fit by the rule of thumb: (MiB - 400) * 2^20 / (4 * 2).")]
    countable_parameters: Annotated[int, _text("Parameters that fit by the accounting, all of them trained, before activations.")]
    against_cpu: Annotated[
        dict[str, float], _text("How many times as fast as the CPU it trained, by network and batch, if that was measured.")
    ] = {}


class RunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked."""

    batch: Annotated[int | None, _text("On each GPU. null: the largest.")]
    precision: Annotated[str, _text("What is computed in.", "bf16")]
    optimizer: Annotated[str, _text("The optimizer.", "adamw")]
    checkpointing: Annotated[bool, _text("Whether blocks are recomputed in backward.")]
    lora: Annotated[int, _text("The rank of the adapters; 0: none.")]
    shard: Annotated[str, _text("How a run is divided over GPUs; empty: every GPU holds everything.", "fsdp")]
    gpus: Annotated[int, _text("How many GPUs.")]
    offload: Annotated[bool, _text("Whether the optimizer's state is in host memory.")]
    infer: Annotated[bool, _text("Inference instead of training.")]


class FitDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a model trains on a GPU."""

    schema: Annotated[Literal["gpudoctor.fit/1"], _text("The form of this document.")] = "gpudoctor.fit/1"
    tool: Tool
    exit_code: Annotated[int, _text("0 fits, 1 does not, 3 unknown.")]
    model: ModelDocument
    run: RunDocument
    gpus: Annotated[tuple[GpuDocument, ...], _text("The GPUs that were asked about, or those of this machine.")]
    fits_on: Annotated[tuple[str, ...], _text("GPUs of the tables on which the run fits, the smallest first.")] = ()
    notes: Annotated[tuple[str, ...], _text("What was assumed, in sentences.")]


def exit_code(answers: Sequence[Answer], *, stated: bool) -> int:
    """Return 0 if the run fits on every stated GPU, or on one of this machine; 1 if it does not; 3 if that is unknown."""
    fits = [one.fits for one in answers]
    if all(fits) if stated else any(fits):
        return READY
    return BROKEN if (any(one is False for one in fits) if stated else all(one is False for one in fits)) else UNKNOWN


def document(
    model: Model,
    asked: Asked,
    answers: Sequence[Answer],
    *,
    stated: bool,
    fits_on: tuple[str, ...],
    notes: tuple[str, ...],
    samples: int | None = None,
    price: float | None = None,
) -> FitDocument:
    """Return the answers as a document."""
    return FitDocument(
        tool=TOOL,
        exit_code=exit_code(answers, stated=stated),
        model=ModelDocument(
            **{field: getattr(model, field) for field in ModelDocument.__struct_fields__ if field != "error"},
            error="an estimate" if model.assumptions else _ERRORS[model.way],
        ),
        run=RunDocument(**msgspec.structs.asdict(asked)),
        gpus=tuple(_gpu(one, asked, samples, price) for one in answers),
        fits_on=fits_on,
        notes=(*model.assumptions, *notes),
    )


def _gpu(answer: Answer, asked: Asked, samples: int | None, price: float | None) -> GpuDocument:
    card = answer.card
    return GpuDocument(
        name=card.name,
        fits=answer.fits,
        why=answer.refused,
        observed=card.observed,
        total_bytes=card.total,
        available_bytes=card.available,
        batch=answer.batch,
        largest_batch=answer.largest,
        needed_bytes=answer.memory.total if answer.memory else None,
        memory={name: size for name, size in msgspec.structs.asdict(answer.memory).items() if size} if answer.memory else None,
        changes=tuple(_change(one) for one in answer.changes),
        speed=_speed(answer, card, asked, samples, price),
        suitability=suitability(card),
        rule_of_thumb_parameters=parameters_by_rule(card),
        countable_parameters=parameters(card, asked),
        against_cpu={f"{network}, batch {batch}": ratio for (network, batch), ratio in card.against_cpu.items()},
    )


def _change(change: Change) -> ChangeDocument:
    return ChangeDocument(change.options, change.saves, change.fits, change.cost)


def _speed(answer: Answer, card: Card, asked: Asked, samples: int | None, price: float | None) -> SpeedDocument | None:
    known = answer.speed
    if known is None:
        return None
    seconds = (known.fastest, known.slowest)
    rates = tuple(answer.batch * asked.gpus / one for one in reversed(seconds))
    hours = (samples / rates[1] / 3600, samples / rates[0] / 3600) if samples else None
    return SpeedDocument(
        step_seconds=seconds,
        samples_per_second=(rates[0], rates[1]),
        bandwidth_share=known.bandwidth_share,
        transfer_seconds=known.transfer,
        measured=card.measured,
        hours=hours,
        cost=(hours[0] * price * asked.gpus, hours[1] * price * asked.gpus) if hours and price is not None else None,
    )
