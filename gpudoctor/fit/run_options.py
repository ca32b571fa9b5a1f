"""What is asked of a training run, and the tables of what each choice costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.schema_fields import means
from gpudoctor.suggestions import suggestion


class Precision(NamedTuple):
    """A number format: bytes of a number, the compute capability from which on GPUs have it, and the column of the GPU table with its peak."""

    bytes: int
    capability: tuple[int, int]
    peak: str
    mixed: bool = False
    """Whether weights, gradients and optimizer state are in FP32, and weights are copied for each matmul."""


class Optimizer(NamedTuple):
    """An optimizer, by bytes for each parameter that is trained, in FP32."""

    state: float
    temporary: int = 0
    """While it updates all parameters at once, which PyTorch does by default on a GPU."""
    factored: bool = False
    """Its state has the size of a matrix' rows and columns, not of the matrix."""
    quantised: bool = False
    """Its state has this size for parameters of any precision."""


class ShardingParts(NamedTuple):
    """Which parts are divided by the number of GPUs, and copies of the gradients beyond one: DistributedDataParallel's buckets."""

    optimizer: bool = False
    gradients: bool = False
    weights: bool = False
    copies: int = 0
    casts: bool = False
    """Weights in 16 bits are cast from master copies as they are gathered, and not kept."""


PRECISIONS = {
    "fp32": Precision(4, (0, 0), "fp32"),
    "tf32": Precision(4, (8, 0), "tf32"),
    "bf16": Precision(2, (8, 0), "bf16", mixed=True),
    "bf16-true": Precision(2, (8, 0), "bf16"),
    "fp16": Precision(2, (5, 3), "fp16", mixed=True),
    "fp8": Precision(2, (8, 9), "bf16", mixed=True),  # what is in no linear layer of a block is in BF16; the table of GPUs has no FP8 peaks
}
OPTIMIZERS = {
    "sgd": Optimizer(0),
    "momentum": Optimizer(4),
    "adam": Optimizer(8, 4),
    "adamw": Optimizer(8, 4),
    "fused-adam": Optimizer(8),
    "fused-adamw": Optimizer(8),
    "adafactor": Optimizer(4, 0, factored=True),
    "8bit-adam": Optimizer(2 + 2 * 4 / 256, quantised=True),
    "lion": Optimizer(4),
}
"""https://huggingface.co/docs/transformers/model_memory_anatomy has 8 bytes for Adam, 2 for 8-bit Adam, 4 for momentum.

8-bit Adam also keeps two scales in FP32 for each block of 256 values, in bitsandbytes and torchao.

PyTorch's `foreach` Adam, its default, holds the roots of all second moments at once, its `fused` Adam does not: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
"""
SHARDINGS = {
    "": ShardingParts(copies=1),
    "zero1": ShardingParts(optimizer=True),
    "zero2": ShardingParts(optimizer=True, gradients=True),
    "zero3": ShardingParts(optimizer=True, gradients=True, weights=True),
    "fsdp": ShardingParts(optimizer=True, gradients=True, weights=True, casts=True),
}
"""ZeRO: https://arxiv.org/abs/1910.02054. Buckets: https://github.com/pytorch/pytorch/pull/41954. FSDP:
https://github.com/pytorch/pytorch/blob/main/torch/distributed/fsdp/_fully_shard/_fsdp_param.py"""
PACKED_BYTES = {"4bit": 0.5 + 4 / 64, "4bit-double": 0.5 + 1 / 64 + 4 / (64 * 256)}
"""Bytes of a weight in 4 bits. bitsandbytes keeps a scale for each block of 64, in FP32 by default; doubly quantised in 8 bits, with one in FP32 for 256 scales.

https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/bitsandbytes/functional.py, https://arxiv.org/abs/2305.14314
"""
MAX_SAMPLES = 10**9
"""The largest batch that is believed: more samples than any data set has."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A training run, or inference."""

    batch: Annotated[int | None, means("Samples a step on each GPU. null: as many as fit.")] = None
    precision: Annotated[str, means("What is computed in.", "bf16")] = "fp32"
    optimizer: Annotated[str, means("The optimizer.", "adamw")] = "adamw"
    checkpointing: Annotated[bool, means("Whether blocks are recomputed in backward.")] = False
    lora: Annotated[int, means("The rank of the adapters; 0: all parameters are trained.")] = 0
    weights: Annotated[str, means("How the frozen linear layers of blocks are stored; empty: in the run's precision.", "4bit")] = ""
    accumulate: Annotated[int, means("How many batches' gradients are added up for a step of the optimizer.")] = 1
    shard: Annotated[str, means("How the run is divided over GPUs; empty: every GPU holds everything.", "fsdp")] = ""
    gpus: Annotated[int, means("How many GPUs.")] = 1
    offload: Annotated[bool, means("Whether optimizer state and master copies are in host memory.")] = False
    infer: Annotated[bool, means("Inference instead of training.")] = False

    def __post_init__(self) -> None:
        """Raise UsageError for what contradicts itself or is unknown."""
        choices: tuple[tuple[str, Iterable[str], str], ...] = (
            (self.precision, PRECISIONS, "--precision"),
            (self.optimizer, OPTIMIZERS, "--optimizer"),
            (self.shard, SHARDINGS, "--shard"),
            (self.weights, ("", *PACKED_BYTES), "--weights"),
        )
        for name, names, option in choices:
            if name not in names:
                known = [one for one in names if one]
                raise UsageError(f"{option} {name!r} is unknown; " + suggestion(name, known, f"it is one of {', '.join(known)}."))
        for option, value, least, most in (
            ("--batch", 1 if self.batch is None else self.batch, 1, MAX_SAMPLES),
            ("--gpus", self.gpus, 1, 10**6),
            ("--lora", self.lora, 0, 1 << 16),
            ("--accumulate", self.accumulate, 1, 10**6),
        ):
            if not least <= value <= most:
                raise UsageError(f"{option} {value:,} is out of range; it takes {max(least, 1)} to {most:,}.")
        if self.shard and self.gpus == 1:
            raise UsageError(f"--shard {self.shard} needs at least two GPUs; state how many with --gpus N.")
        if self.infer and (self.lora or self.shard or self.offload or self.checkpointing or self.accumulate > 1):
            raise UsageError("--infer is without training; leave out --lora, --shard, --offload, --checkpointing and --accumulate.")
        if self.weights and not (self.lora or self.infer):
            raise UsageError("Weights in 4 bits cannot be trained: add --lora R, or --infer.")
        if self.weights and self.precision == "fp8":
            raise UsageError("Weights in 4 bits are multiplied in 16 bits, not in FP8; use --precision bf16.")

    @property
    def numbers(self) -> Precision:
        """The row of its precision."""
        return PRECISIONS[self.precision]

    @property
    def is_16_bit(self) -> bool:
        """Whether it computes in numbers of 16 bits."""
        return self.numbers.bytes < PRECISIONS["fp32"].bytes

    @property
    def trained_bytes(self) -> int:
        """Bytes of a gradient, and of a number of the optimizer's state."""
        return PRECISIONS["fp32"].bytes if self.numbers.mixed else self.numbers.bytes

    @property
    def is_prepared_for_kbit(self) -> bool:
        """Whether all that is not packed in 4 bits is in FP32, as PEFT's prepare_model_for_kbit_training leaves it."""
        return bool(self.weights and self.lora and not self.shard and self.numbers.mixed)

    @property
    def is_autocast(self) -> bool:
        """Whether weights in 16 bits are copies that autocast makes of those in FP32."""
        return self.numbers.mixed and not self.infer and not self.shard and (not self.lora or self.is_prepared_for_kbit)
