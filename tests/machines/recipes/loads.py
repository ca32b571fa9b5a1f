"""Machines whose GPUs NVML watches during training: TensorFlow plays a GPU, and the shims are under load while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.machines.recipes.base import Recipe, healthy
from tests.seams import Cuda, Nvml, NvmlGpu
from tests.smoke.playing import plays

GIB = 1 << 30
AT_WORK = NvmlGpu(
    clocks_event_reasons=0x4, power_usage=398_000, utilization=(97, 60), temperature=71, clock_sm=(1305, 1410), memory_used=2 * GIB,
    compute_processes=((0, 1900 << 20),),
)  # fmt: skip
"""Full load, at which a healthy card runs into its power limit."""
IDLE = NvmlGpu(pcie_gen=(1, 4))


def at_work(about: str, **changes: Any) -> Recipe:
    """An idle A100 with this load during training."""
    nvml = Nvml(gpus=[replace(IDLE, loaded=replace(AT_WORK, **changes))])
    return healthy(
        about=about,
        libraries=(nvml, Cuda(gpus=nvml.gpus)),
        arguments=("--level", "train", "--framework", "tensorflow"),
        environment={"FAKE_LOAD": "{place}/load"},
        trains=True,
        patch=plays(),
        notes=("cpu-only-build",),
    )


RECIPES: dict[str, Recipe] = {
    "seen-at-work": at_work("trained at full power, which NVML sees: the training's process, its memory, its clocks; the link wakes up"),
    "too-hot-at-work": replace(
        at_work("cool before, and slowed down by heat while it trains", clocks_event_reasons=0x48, temperature=91, clock_sm=(705, 1410)),
        verdict="degraded",
        roots=("thermal-throttled",),
    ),
}
