"""The words for a run: other tools' names for our choices, and a run in one word, as `--require` takes it: fit=llama-7b,lora,bf16,batch=1."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gpudoctor.amounts import parse_count, parse_image_size
from gpudoctor.errors import UsageError
from gpudoctor.fit.accounting import largest_batch, peak_memory
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.model import Model
from gpudoctor.fit.presets import model_of_name
from gpudoctor.fit.run_options import OPTIMIZERS, PACKED_BYTES, PRECISIONS, SHARDINGS, Asked

_SPELLINGS = """fp32 float32 float f32 32-true
bf16 bfloat16 bf16-mixed mixed_bfloat16
bf16-true bf16_true pure-bf16
fp16 float16 half f16 16-mixed mixed_float16
fp8 float8 f8_e4m3 float8_e4m3fn e4m3 f8_e5m2 float8_e5m2
adamw adamw_torch
fused-adam fusedadam
fused-adamw adamw_torch_fused adamw_fused
8bit-adam adam8bit adamw8bit adamw_8bit adamw_bnb_8bit paged_adamw_8bit
zero1 zero-1
zero2 zero-2 shard_grad_op
zero3 zero-3
fsdp fsdp2 full_shard
4bit nf4 fp4 int4 4-bit"""
NAMES_BY_SPELLING = {spelling: name for name, *spellings in map(str.split, _SPELLINGS.splitlines()) for spelling in spellings}
"""Our names for those of PyTorch, safetensors and transformers' TrainingArguments."""
_SETTINGS_BY_WORD: dict[str, tuple[str, Any]] = {
    **{word: ("precision", word) for word in PRECISIONS},
    **{word: ("optimizer", word) for word in OPTIMIZERS},
    **{word: ("shard", word) for word in SHARDINGS if word},
    **{word: ("weights", word) for word in PACKED_BYTES},
    **{word: (word, True) for word in ("checkpointing", "offload", "infer")},
    "lora": ("lora", 16),
}
"""What each word sets; adapters have this rank unless another is stated."""
_NUMBER_FIELDS = ("batch", "gpus", "lora", "seq", "accumulate")


def canonical_name(word: str) -> str:
    """Return our name for the spelling of another tool, or the word itself in lower case."""
    return NAMES_BY_SPELLING.get(word.lower(), word.lower())


class Run(msgspec.Struct, frozen=True):
    """A model and what is asked of it."""

    model: Model
    asked: Asked

    @property
    def bytes(self) -> int:
        """The memory that it needs on each GPU."""
        return peak_memory(self.model, self.asked, self.asked.batch or 1).total

    def largest_batch(self, free: int) -> int:
        """Return how many samples a step fit into so many free bytes."""
        return largest_batch(self.model, self.asked, free)


def run_of_words(text: str) -> Run:
    """Return the run that "llama-7b,lora,bf16,batch=1" spells. Raises UsageError for a word that is unknown."""
    fields: dict[str, Any] = {"batch": 1}
    names: list[str] = []
    for word in filter(None, text.lower().split(",")):
        field, equal, value = word.partition("=")
        if (name := canonical_name(word)) in _SETTINGS_BY_WORD:
            fields.update([_SETTINGS_BY_WORD[name]])
        elif equal and field in _NUMBER_FIELDS:
            fields[field] = parse_count(value, field)
        elif equal and field == "image":
            fields[field] = parse_image_size(value)
        elif field in {"params", "layers", "width"} or not (equal or names):
            names.append(word)
        else:
            raise UsageError(f"{word!r} is no part of a run; write it as in fit=llama-7b,lora,bf16,batch=1.")
    sample, named = SampleSize(fields.pop("seq", None), fields.pop("image", None)), ",".join(names)
    if re.search(r":|\.(json|safetensors|keras)$", named):
        raise UsageError(f"{named} is a file or function, which a requirement cannot name; ask about it with gpudoctor fit.")
    return Run(model_of_name(named, sample), Asked(**fields))
