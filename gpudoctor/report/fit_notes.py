"""What a prediction of fit assumes and leaves out, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.derive.cards import USABLE_SHARE
from gpudoctor.digits import short_number
from gpudoctor.fit.accounting import FRAGMENTATION_SHARE, RESERVED_BYTES
from gpudoctor.fit.model import Model
from gpudoctor.fit.run_options import Asked
from gpudoctor.fit.speed import MEASURED_SHARES, PEAK_SHARES
from gpudoctor.fit.tally import FULL_BYTES
from gpudoctor.frameworks import tracing_framework
from gpudoctor.report.fit import GpuDocument

FP8_NOTES = {
    "training": (
        "FP8 is counted as Transformer Engine keeps it, by its source: linear layers of blocks save their inputs, weights and transposed weights in FP8, with "
        "a scale for 32 numbers; all else is in BF16, master copies in FP32. torchao saves inputs in BF16, which needs more."
    ),
    "adapters": (
        "FP8 is counted as Transformer Engine keeps it, by its source: frozen weights in BF16, and beside them each weight and its transpose in FP8. Adapters "
        "read their inputs in BF16, so FP8 saves no memory here."
    ),
    "inference": "FP8 is counted for the weights of linear layers in blocks, with a scale for 32 numbers; all else, with keys and values, is in BF16.",
    "none": "FP8 applies to linear layers in blocks. This model has none that are known, so it is counted in BF16.",
}
"""How FP8 was counted; no GPU measured it."""
_DROPOUT_NOTE = "Adapters without dropout are counted; with dropout, each keeps a copy of its input."
_TRACED_ADAPTERS_NOTE = "Traced, activations are those of full training: adapters keep less."
_THROUGHPUT_NOTE = (
    "A GPU gains throughput, not latency: small batches leave it idle. Reading input and exchanging gradients are not counted."
)
_BF16 = "bfloat16"
_MAX_POOL_SHARE = 0.95
"""The share of a GPU's memory that leaves CUDA's libraries enough."""
_GIB = 1 << 30


def fit_notes(model: Model, asked: Asked, answers: Sequence[GpuDocument], share: float) -> tuple[str, ...]:
    """Return the sentences; `share` is that of a GPU's memory which the framework takes its tensors from."""
    speeds = any(answer.speed for answer in answers)
    return (
        *model.assumptions,
        *_fp8_notes(model, asked),
        f"Assumed: {'; '.join(_assumed_clauses(answers))}.",
        *_framework_notes(model, asked, share),
        *_weight_notes(model, asked),
        *_attention_notes(model, asked),
        *(_THROUGHPUT_NOTE,) * speeds,
    )


def _fp8_notes(model: Model, asked: Asked) -> Iterator[str]:
    """Yield how FP8 was counted, if it was asked for."""
    if asked.precision == "fp8":
        yield FP8_NOTES["none" if not model.adapted else "inference" if asked.infer else "adapters" if asked.lora else "training"]
        yield "Speed is that of BF16: the tables have no FP8 peaks."


def _assumed_clauses(answers: Sequence[GpuDocument]) -> Iterator[str]:
    """Yield the numbers that were assumed, each a clause."""
    reserved = max((answer.memory["reserve"] for answer in answers if answer.memory), default=RESERVED_BYTES)
    yield f"{reserved / 1e9:.1f} GB for {'CUDA context, libraries and NCCL' if reserved > RESERVED_BYTES else 'CUDA context and libraries'}"
    yield f"{FRAGMENTATION_SHARE:.0%} of activations and workspace lost to fragmentation"
    if not answers or not all(answer.observed for answer in answers):
        yield f"{USABLE_SHARE:.0%} of a named GPU's memory usable, less what ECC takes of GDDR in data centres"
    speeds = [answer.speed for answer in answers if answer.speed]
    if speeds and all(speed.measured for speed in speeds):
        yield f"speed at {MEASURED_SHARES[0]:.0%} to {MEASURED_SHARES[1]:.0%} of what rates measured on this GPU allow"
    elif speeds:
        yield f"speed at {PEAK_SHARES[0]:.0%} to {PEAK_SHARES[1]:.0%} of what published peaks (--report FILE has measured rates) allow"


def _framework_notes(model: Model, asked: Asked, share: float) -> Iterator[str]:
    """Yield what the framework, or the way in which the model was counted, leaves out."""
    framework = tracing_framework(model.traced_by)
    if framework.pool and share < _MAX_POOL_SHARE:
        more = f"{framework.pool.variables[0]}={_MAX_POOL_SHARE:.2f} lets it take more"
        yield f"{framework.title} takes at most {share:.0%} of a GPU's memory for tensors; {more}."
    if asked.checkpointing and not model.block_flops:
        nothing = f"{model.name} has no blocks to recompute: checkpointing saves nothing in this count."
        yield framework.traced_checkpointing or nothing
    if asked.lora and model.traced_by:
        yield _TRACED_ADAPTERS_NOTE


def _weight_notes(model: Model, asked: Asked) -> Iterator[str]:
    """Yield in which precision weights are counted, where it could be another."""
    if model.stored == _BF16 and asked.trained_bytes == FULL_BYTES and not asked.infer:
        loaded = f"{model.name} states {_BF16}: transformers 5 loads its weights so unless dtype=torch.float32 is passed"
        yield f"{loaded}, and trains them without a copy in FP32; --precision bf16-true counts that."
    if asked.is_prepared_for_kbit:
        wide = "Embeddings, norms and the output layer are counted in FP32, as PEFT's prepare_model_for_kbit_training makes them"
        yield f"{wide}; --precision bf16-true keeps them in 16 bits, {short_number(FULL_BYTES * model.outside / _GIB, 2)} GiB less."
    if asked.lora:
        yield _DROPOUT_NOTE


def _attention_notes(model: Model, asked: Asked) -> Iterator[str]:
    """Yield what attention keeps that is not fused."""
    if model.scores and not asked.infer:
        eager = short_number(model.scores * asked.numbers.bytes / _GIB, 2)
        yield f"Attention is counted as fused: scaled_dot_product_attention, FlashAttention. Eager attention keeps at least {eager} GiB more a sample."
