"""What a prediction of fit assumes and leaves out, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.derive.cards import USABLE
from gpudoctor.digits import digits
from gpudoctor.fit.accounting import FRAGMENTATION, RESERVE
from gpudoctor.fit.asked import Asked
from gpudoctor.fit.model import Model
from gpudoctor.fit.speed import MEASURED_SHARES, PEAK_SHARES
from gpudoctor.fit.tally import FULL
from gpudoctor.frameworks import traced_in
from gpudoctor.report.fit import GpuDocument

FP8 = {
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
_DROPOUT = "Adapters without dropout are counted; with dropout, each keeps a copy of its input."
_TRACED_WHOLE = "Traced, activations are those of full training: adapters keep less."
_THROUGHPUT = "A GPU gains throughput, not latency: small batches leave it idle. Reading input and exchanging gradients are not counted."
_BF16 = "bfloat16"
_MOST = 0.95
"""The share of a GPU's memory that leaves CUDA's libraries enough."""
_GIB = 1 << 30


def notes(model: Model, asked: Asked, answers: Sequence[GpuDocument], share: float) -> tuple[str, ...]:
    """Return the sentences; `share` is that of a GPU's memory which the framework takes its tensors from."""
    speeds = any(answer.speed for answer in answers)
    return (
        *model.assumptions,
        *_fp8(model, asked),
        f"Assumed: {'; '.join(_assumed(answers))}.",
        *_framework(model, asked, share),
        *_weights(model, asked),
        *_attention(model, asked),
        *(_THROUGHPUT,) * speeds,
    )


def _fp8(model: Model, asked: Asked) -> Iterator[str]:
    """Yield how FP8 was counted, if it was asked for."""
    if asked.precision == "fp8":
        yield FP8["none" if not model.adapted else "inference" if asked.infer else "adapters" if asked.lora else "training"]
        yield "Speed is that of BF16: the tables have no FP8 peaks."


def _assumed(answers: Sequence[GpuDocument]) -> Iterator[str]:
    """Yield the numbers that were assumed, each a clause."""
    reserved = max((answer.memory["reserve"] for answer in answers if answer.memory), default=RESERVE)
    yield f"{reserved / 1e9:.1f} GB for {'CUDA context, libraries and NCCL' if reserved > RESERVE else 'CUDA context and libraries'}"
    yield f"{FRAGMENTATION:.0%} of activations and workspace lost to fragmentation"
    if not answers or not all(answer.observed for answer in answers):
        yield f"{USABLE:.0%} of a named GPU's memory usable, less what ECC takes of GDDR in data centres"
    speeds = [answer.speed for answer in answers if answer.speed]
    if speeds and all(speed.measured for speed in speeds):
        yield f"speed at {MEASURED_SHARES[0]:.0%} to {MEASURED_SHARES[1]:.0%} of what rates measured on this GPU allow"
    elif speeds:
        yield f"speed at {PEAK_SHARES[0]:.0%} to {PEAK_SHARES[1]:.0%} of what published peaks (--report FILE has measured rates) allow"


def _framework(model: Model, asked: Asked, share: float) -> Iterator[str]:
    """Yield what the framework, or the way in which the model was counted, leaves out."""
    framework = traced_in(model.traced_by)
    if framework.pool and share < _MOST:
        more = f"{framework.pool.variables[0]}={_MOST:.2f} lets it take more"
        yield f"{framework.title} takes at most {share:.0%} of a GPU's memory for tensors; {more}."
    if asked.checkpointing and not model.block_flops:
        nothing = f"{model.name} has no blocks to recompute: checkpointing saves nothing in this count."
        yield framework.traced_checkpointing or nothing
    if asked.lora and model.traced_by:
        yield _TRACED_WHOLE


def _weights(model: Model, asked: Asked) -> Iterator[str]:
    """Yield in which precision weights are counted, where it could be another."""
    if model.stored == _BF16 and asked.trained_bytes == FULL and not asked.infer:
        loaded = f"{model.name} states {_BF16}: transformers 5 loads its weights so unless dtype=torch.float32 is passed"
        yield f"{loaded}, and trains them without a copy in FP32; --precision bf16-true counts that."
    if asked.prepared:
        wide = "Embeddings, norms and the output layer are counted in FP32, as PEFT's prepare_model_for_kbit_training makes them"
        yield f"{wide}; --precision bf16-true keeps them in 16 bits, {digits(FULL * model.outside / _GIB, 2)} GiB less."
    if asked.lora:
        yield _DROPOUT


def _attention(model: Model, asked: Asked) -> Iterator[str]:
    """Yield what attention keeps that is not fused."""
    if model.scores and not asked.infer:
        eager = digits(model.scores * asked.numbers.bytes / _GIB, 2)
        yield f"Attention is counted as fused: scaled_dot_product_attention, FlashAttention. Eager attention keeps at least {eager} GiB more a sample."
