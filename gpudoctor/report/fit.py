"""The document gpudoctor.fit/1: whether a model trains on a GPU, with which batch and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.fit.accounting import memory
from gpudoctor.fit.answer import Answer
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.model import Model
from gpudoctor.report.build import TOOL
from gpudoctor.report.model import Tool
from gpudoctor.schema_fields import means

_FORMULA_WITHIN = (
    "parameters and FLOPs are exact; activations within 0.5% of a real step, with checkpointing too if the same blocks are recomputed "
    "(Hugging Face transformers keeps up to 10% more)"
)
"""How far the formula was from a real step of PyTorch on the CPU in FP32, by scripts/bench/fit."""


class ModelDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the model."""

    name: Annotated[str, means("As it was named.", "resnet50")]
    sample: Annotated[str, means("What one sample is.", "image 3x224x224", "2048 tokens")]
    way: Annotated[str, means("Open: how it was counted.", "formula", "exact")]
    traced_by: Annotated[str, means("The framework that it was traced in; empty for the formula.")]
    error: Annotated[str, means("How far this way is from what frameworks count and save, in a phrase.")]
    parameters: Annotated[int, means("Each shared parameter once.")]
    trainable: Annotated[int, means("Of the model itself, without adapters.")]
    forward_flops: Annotated[int | None, means("Per sample; a multiply-add counts 2. null: unknown.")]
    step_flops: Annotated[int | None, means("Per sample, forward and backward. null: unknown.")]
    source: Annotated[str, means("Where its shape is published, or the file that was read.")]


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a run needs of any GPU."""

    batch: Annotated[int, means("The stated batch, or 1.")]
    needed_bytes: Annotated[int, means("The sum of the parts.")]
    memory: Annotated[dict[str, int], means("Bytes by part, at the peak of a step.")]
    peak: Annotated[str, means("The moment of the peak, a phrase.", "in the optimizer step")]


class FitDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a model trains on a GPU."""

    schema: Annotated[Literal["gpudoctor.fit/1"], means("The form of this document.")] = "gpudoctor.fit/1"
    tool: Tool
    exit_code: Annotated[int, means("0 fits, 1 does not, 3 unknown or no GPU to ask about.")]
    model: ModelDocument
    run: Asked
    gpus: Annotated[tuple[Answer, ...], means("The GPUs that were asked about, or those of this machine whose free memory is known.")]
    needs: Annotated[Needs | None, means("Where there is no GPU to ask about. null: there is one, or activations are unknown.")] = None
    fits_on: Annotated[
        tuple[str, ...], means("GPUs of the tables on which the run fits and that the newest driver supports, the smallest first.")
    ] = ()
    notes: Annotated[tuple[str, ...], means("What was assumed, in sentences.")]


def exit_code(answers: Sequence[Answer], *, stated: bool) -> int:
    """Return 0 if the run fits on every stated GPU, or on one of this machine; 1 if it does not; 3 if that is unknown or there is no GPU."""
    if not answers:
        return UNKNOWN
    fits = [answer.fits for answer in answers]
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
) -> FitDocument:
    """Return the answers as a document."""
    return FitDocument(
        tool=TOOL,
        exit_code=exit_code(answers, stated=stated),
        model=ModelDocument(
            **{field: getattr(model, field) for field in ModelDocument.__struct_fields__ if field != "error"},
            error="an estimate" if _is_another_run(model, asked) else _within(model),
        ),
        run=asked,
        gpus=tuple(answers),
        needs=None if answers or not model.counted else _needs(model, asked),
        fits_on=fits_on,
        notes=notes,
    )


def _needs(model: Model, asked: Asked) -> Needs:
    batch = asked.batch or 1
    needed = memory(model, asked, batch)
    return Needs(batch=batch, needed_bytes=needed.total, memory=needed.present, peak=needed.moment)


def _is_another_run(model: Model, asked: Asked) -> bool:
    """Return whether a run is none of those that were compared with real steps: training, and if traced, of all weights without sharding."""
    other = bool(model.traced_by and (asked.lora or asked.shard))
    return bool(model.assumptions) or asked.precision == "fp8" or asked.infer or other


def _within(model: Model) -> str:
    """Return how far the way in which a model was counted was from a real step."""
    return model.framework.traced_within or _FORMULA_WITHIN
