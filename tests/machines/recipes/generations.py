"""Machines whose GPU generation lacks something: BF16, or torch.compile support."""

from __future__ import annotations

from dataclasses import replace

from tests.machines.packages import torch
from tests.machines.recipes.base import Recipe
from tests.machines.recipes.builds import on
from tests.machines.recipes.gpus import RTX_3090, T4, V100, noted, of
from tests.machines.recipes.kernel import GTX_1080

BF16 = ("--level", "look", "--require", "bf16")
TORCH = torch("2.4.0+cu121", "12.1")


RECIPES: dict[str, Recipe] = {
    "turing-without-bf16": noted(of(*(T4,) * 4, about="four T4: one note on all of them"), "gpu-lacks-bf16"),
    "bf16-required-and-there": of(RTX_3090, about="an RTX 3090, and BF16 is required", arguments=BF16),
    "bf16-required-of-turing": of(
        RTX_3090, T4, T4, about="BF16 is required, and two of three GPUs have none", arguments=BF16,
        verdict="broken", roots=("gpu-lacks-bf16",), notes=("mixed-gpu-models",),
    ),
    "torch-compiles-not-on-pascal": replace(
        on(GTX_1080, "a GTX 1080 and a PyTorch with code for it, whose compiler has none", TORCH), notes=("gpu-lacks-bf16", "gpu-too-old-for-triton")
    ),
    "torch-compiles-on-volta": on(V100, "a V100, the oldest that torch.compile is for", TORCH),
}  # fmt: skip
