"""The document gpudoctor.fit/1: whether a model trains on a GPU, with which batch and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from gpudoctor.derive.cards import card_suitability
from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.fit.accounting import peak_memory
from gpudoctor.fit.answer import Answer
from gpudoctor.fit.card import Card
from gpudoctor.fit.model import Model
from gpudoctor.fit.run_options import Asked
from gpudoctor.frameworks import tracing_framework
from gpudoctor.report.build import TOOL
from gpudoctor.report.model import Tool
from gpudoctor.schema_fields import FORM, means

_FORMULA_ACCURACY = (
    "parameters and FLOPs are exact; activations within 0.5% of a real step, with checkpointing too if the same blocks are recomputed "
    "(Hugging Face transformers keeps up to 10% more)"
)
"""How far the formula was from a real step of PyTorch on the CPU in FP32, by scripts/bench/fit."""
_SYSTEM_MIB, _RULE_BYTES = 400, 4 * 2
"""The rule of thumb: 400 MiB for the system, and each parameter twice in FP32."""


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


class GpuDocument(Answer, frozen=True, kw_only=True):
    """The answer for one GPU, and what is known of the GPU."""

    name: Annotated[str, means("The GPU.")]
    observed: Annotated[bool, means("Whether available_bytes were free on this machine; otherwise they are assumed by the nominal size.")]
    total_bytes: Annotated[int, means("Its memory.")]
    available_bytes: Annotated[int, means("What a program can use.")]
    suitability: Annotated[str, means("What the GPU is enough for, in a phrase.")]
    note: Annotated[str, means("What the tables say of it, a phrase; empty: nothing.", "two GPUs on a board")] = ""
    rule_of_thumb_parameters: Annotated[int, means("Parameters that fit by the rule of thumb: (MiB - 400) * 2^20 / (4 * 2).")]
    countable_parameters: Annotated[int, means("Parameters that fit by the accounting, all of them trained, before activations.")]
    against_cpu: Annotated[
        dict[str, float], means("How many times as fast as the CPU it trained, by network and batch, if that was measured.")
    ]


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a run needs of any GPU."""

    batch: Annotated[int, means("The stated batch, or 1.")]
    needed_bytes: Annotated[int, means("The sum of the parts.")]
    memory: Annotated[dict[str, int], means("Bytes by part, at the peak of a step.")]
    peak: Annotated[str, means("The moment of the peak, a phrase.", "in the optimizer step")]


class FitDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a model trains on a GPU."""

    schema: Annotated[Literal["gpudoctor.fit/1"], FORM] = "gpudoctor.fit/1"
    tool: Tool
    exit_code: Annotated[int, means("0 fits, 1 does not, 3 unknown or no GPU to ask about.")]
    model: ModelDocument
    run: Asked
    gpus: Annotated[tuple[GpuDocument, ...], means("The GPUs that were asked about, or those of this machine whose free memory is known.")]
    needs: Annotated[Needs | None, means("Where there is no GPU to ask about. null: there is one, or activations are unknown.")] = None
    fits_on: Annotated[
        tuple[str, ...], means("GPUs of the tables on which the run fits and that the newest driver supports, the smallest first.")
    ] = ()
    notes: Annotated[tuple[str, ...], means("What was assumed, in sentences.")]


def gpu_document(card: Card, asked: Asked, found: Answer) -> GpuDocument:
    """Return the answer for a GPU with what is known of it."""
    return GpuDocument(
        **msgspec.structs.asdict(found),
        name=card.name,
        observed=card.observed,
        total_bytes=card.total,
        available_bytes=card.available,
        suitability=card_suitability(card),
        note=card.note,
        rule_of_thumb_parameters=max(0, (card.total >> 20) - _SYSTEM_MIB) * (1 << 20) // _RULE_BYTES,
        countable_parameters=card.parameters(asked),
        against_cpu={f"{network}, batch {batch}": ratio for (network, batch), ratio in card.against_cpu.items()},
    )


def exit_code_of_answers(answers: Sequence[Answer], *, stated: bool) -> int:
    """Return 0 if the run fits on every stated GPU, or on one of this machine; 1 if it does not; 3 if that is unknown or there is no GPU."""
    if not answers:
        return UNKNOWN
    fits = [answer.fits for answer in answers]
    if all(fits) if stated else any(fits):
        return READY
    return BROKEN if (any(one is False for one in fits) if stated else all(one is False for one in fits)) else UNKNOWN


def fit_document(
    model: Model,
    asked: Asked,
    answers: Sequence[GpuDocument],
    *,
    stated: bool,
    fits_on: tuple[str, ...],
    notes: tuple[str, ...],
) -> FitDocument:
    """Return the answers as a document."""
    return FitDocument(
        tool=TOOL,
        exit_code=exit_code_of_answers(answers, stated=stated),
        model=ModelDocument(
            **{field: getattr(model, field) for field in ModelDocument.__struct_fields__ if field not in {"way", "error"}},
            way="exact" if model.traced_by else "formula",
            error="an estimate" if _is_unverified_run(model, asked) else _count_accuracy(model),
        ),
        run=asked,
        gpus=tuple(answers),
        needs=None if answers or not model.counted else _needs_of_run(model, asked),
        fits_on=fits_on,
        notes=notes,
    )


def _needs_of_run(model: Model, asked: Asked) -> Needs:
    batch = asked.batch or 1
    needed = peak_memory(model, asked, batch)
    return Needs(batch=batch, needed_bytes=needed.total, memory=needed.present, peak=needed.moment)


def _is_unverified_run(model: Model, asked: Asked) -> bool:
    """Return whether a run is none of those that were compared with real steps: training, and if traced, of all weights without sharding."""
    other = bool(model.traced_by and (asked.lora or asked.shard))
    return bool(model.assumptions) or asked.precision == "fp8" or asked.infer or other


def _count_accuracy(model: Model) -> str:
    """Return how far the way in which a model was counted was from a real step."""
    return tracing_framework(model.traced_by).traced_within or _FORMULA_ACCURACY
