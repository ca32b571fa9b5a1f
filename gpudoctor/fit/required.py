"""A run in one word, as `--require` takes it: fit=llama-7b,lora,bf16,batch=1."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.accounting import largest_batch, memory
from gpudoctor.fit.asked import OPTIMIZERS, PRECISIONS, SHARDINGS, Asked
from gpudoctor.fit.counted import Sample
from gpudoctor.fit.model import Model
from gpudoctor.fit.presets import model
from gpudoctor.fit.sized import of_parameters

RANK = 16
"""Of adapters whose rank is not stated."""
_WORDS = {"precision": tuple(PRECISIONS), "optimizer": tuple(OPTIMIZERS), "shard": tuple(SHARDINGS)}
_FLAGS = ("checkpointing", "offload", "infer")
_NUMBERS = ("batch", "gpus", "lora")
_OF_PARAMETERS = ("params", "layers", "width")


class Run(msgspec.Struct, frozen=True):
    """A model and what is asked of it."""

    model: Model
    asked: Asked

    @property
    def bytes(self) -> int:
        """The memory that it needs on each GPU."""
        return memory(self.model, self.asked, self.asked.batch or 1).total

    def largest_batch(self, free: int) -> int:
        """Return how many samples a step fit into so many free bytes."""
        return largest_batch(self.model, self.asked, free)


def parse(text: str) -> Run:
    """Return the run that "llama-7b,lora,bf16,batch=1" spells. Raises UsageError for a word that is unknown."""
    fields: dict[str, Any] = {"batch": 1}
    tokens: int | None = None
    sizes: list[str] = []
    named = ""
    for word in filter(None, text.lower().split(",")):
        field, equal, value = word.partition("=")
        table = next((option for option, words in _WORDS.items() if word in words), None)
        if table:
            fields[table] = word
        elif word in _FLAGS:
            fields[word] = True
        elif field in _OF_PARAMETERS:
            sizes.append(word)
        elif word == "lora":
            fields[word] = RANK
        elif equal and field in {*_NUMBERS, "seq"} and value.isdecimal() and len(value) < 16:
            tokens, fields = (int(value), fields) if field == "seq" else (tokens, {**fields, field: int(value)})
        elif equal or named:
            raise UsageError(f"{word!r} is no part of a run; write it as in fit=llama-7b,lora,bf16,batch=1.")
        else:
            named = word
    sample = Sample(tokens)
    return Run(of_parameters(",".join(sizes), sample) if sizes and not named else model(named, sample), Asked(**fields))
