"""Runs that others measured on GPUs, against which fit is held: peaks of memory, batches found by trial, and samples a second.

memory.csv: `peak_mb` is torch.cuda.max_memory_allocated in 10^6 bytes. trials.csv: the largest batch that ran in `usable_mib`, and the one that ran out of memory, if any did.
contexts.csv: the longest sequence that ran in `gib`. speeds.csv: samples a second without torch.compile. The sources:

- fitcheck-llm: data/measurements of the source distribution fitcheck-llm 0.3.1; runs with scaled_dot_product_attention. Transformers and PEFT, adapters on the matrices of
  attention in FP32, frozen weights in 16 or 4 bits, no autocast, the output held until backward ends.
- litgpt-configurations: https://github.com/Lightning-AI/litgpt/blob/main/config_hub/finetune/README.md; adapters on queries and values.
- litgpt-tables: https://github.com/Lightning-AI/litgpt/blob/main/tutorials/resource-tables.md; the longest sample of 1304 tokens, and
  inference of few tokens: 60 were taken, whose keys and values are 0.2 % of the peak. Weights in 4 bits were multiplied by
  bitsandbytes 0.41, whose layers keep their inputs for backward (`ctx.tensors = (A, B)` in autograd/_functions.py of that wheel); those of 0.50 do not.
- unsloth: https://github.com/unslothai/unsloth/blob/main/README.md, the column of Hugging Face with FlashAttention 2: the longest sequence that trained at batch 1 in a
  memory of that size, 0 where none did. Adapters on all linear layers; 8-bit AdamW and doubly quantised scales are those of its examples and weights.
- timm: https://github.com/huggingface/pytorch-image-models/tree/main/results; it tries batches of 512, 384, 256 and 192. Its batch of vit-b is left out: attention was eager in PyTorch 1.12.
"""

from __future__ import annotations

import csv
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from gpudoctor.derive.cards import USABLE_SHARE
from gpudoctor.fit.accounting import peak_memory
from gpudoctor.fit.counted_models import USUAL_SAMPLE, PresetNetwork, SampleSize
from gpudoctor.fit.presets import PRESETS, model_of_name
from gpudoctor.fit.run_options import Asked
from gpudoctor.model_files.configuration import network_of_configuration
from gpudoctor.run_spelling import Run, run_of_words

_MOST_TOKENS = 1 << 17
_SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size")
_SHAPES = {
    "deepseek-coder-1.3b": ("llama", (2048, 24, 16, 16, 5504, 32256), False),
    "mistral-7b-v0.3": ("mistral", (4096, 32, 32, 8, 14336, 32768), False),
    "phi-3-mini": ("phi3", (3072, 32, 32, 32, 8192, 32064), False),
    "qwen2.5-1.5b": ("qwen2", (1536, 28, 12, 2, 8960, 151936), True),
    "smollm2-1.7b": ("llama", (2048, 24, 32, 32, 8192, 49152), True),
    "smollm2-135m": ("llama", (576, 30, 9, 3, 1536, 49152), True),
    "smollm2-360m": ("llama", (960, 32, 15, 5, 2560, 49152), True),
    "tinyllama": ("llama", (2048, 22, 32, 4, 5632, 32000), False),
}
"""Models that are no presets: the kind of their configuration, its sizes, and whether the output layer has the embedding's weights."""


class Measured(NamedTuple):
    """A run, and what was measured of it."""

    name: str
    gpu: str
    run: Run
    batch: int
    value: int
    """Bytes of the peak, or samples a second."""

    @property
    def needed(self) -> int:
        """The bytes of the peak by our count, without what is no tensor."""
        needs = peak_memory(self.run.model, self.run.asked, self.batch)
        return needs.total - needs.reserve - needs.fragmentation


class Trial(NamedTuple):
    """A run whose largest batch was found by trial."""

    name: str
    gpu: str
    run: Run
    usable: int
    """Bytes that a program could allocate."""
    fits: int
    out_of_memory: int
    """0: no batch was tried that did."""


class Context(NamedTuple):
    """A run whose longest sequence was found by trial."""

    name: str
    model: str
    asked: Asked
    usable: int
    """Bytes that a program could allocate."""
    fits: int
    """Tokens; 0: not even a short sequence."""

    @property
    def longest(self) -> int:
        """The longest sequence by our count."""
        return bisect_right(
            range(1, _MOST_TOKENS),
            self.usable,
            key=lambda tokens: peak_memory(model_of_name(self.model, SampleSize(tokens)), self.asked, 1).total,
        )


def contexts() -> list[Context]:
    """Return the runs whose longest sequence was found."""
    return [
        Context(
            f"{row['model']} {row['gib']} GiB",
            row["model"],
            _asked(row["options"]),
            round(USABLE_SHARE * int(row["gib"]) * (1 << 30)),
            int(row["fits"]),
        )
        for row in _rows("contexts")
    ]


def peaks() -> list[Measured]:
    """Return the runs whose peak was measured."""
    return [Measured(_name(row), row["gpu"], _run(row), int(row["batch"]), int(row["peak_mb"]) * 10**6) for row in _rows("memory")]


def speeds() -> list[Measured]:
    """Return the runs whose speed was measured."""
    return [Measured(_name(row), row["gpu"], _run(row), int(row["batch"]), int(row["samples_per_second"])) for row in _rows("speeds")]


def trials() -> list[Trial]:
    """Return the runs whose largest batch was found."""
    return [
        Trial(_name(row), row["gpu"], _run(row), int(row["usable_mib"]) << 20, int(row["fits"]), int(row["out_of_memory"] or 0))
        for row in _rows("trials")
    ]


def _rows(table: str) -> list[dict[str, str]]:
    with (Path(__file__).parent / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _name(row: dict[str, str]) -> str:
    said = (row["gpu"], row["model"], row["options"], row.get("tokens", ""), row.get("batch", ""), row.get("with", ""))
    return " ".join(filter(None, said))


def _run(row: dict[str, str]) -> Run:
    sample = SampleSize(int(row["tokens"])) if row.get("tokens") else USUAL_SAMPLE
    asked = _asked(row["options"], row.get("batch") or "1")
    name = row["model"]
    return Run(model_of_name(name, sample) if name in PRESETS else _configured(name).model(name, sample), asked)


def _asked(options: str, batch: str = "1") -> Asked:
    return run_of_words(f"lenet,{options.replace(' ', ',')},batch={batch}").asked


def _configured(name: str) -> PresetNetwork:
    kind, sizes, tied = _SHAPES[name]
    return network_of_configuration(name, {"model_type": kind, "tie_word_embeddings": tied, **dict(zip(_SIZES, sizes, strict=True))})
