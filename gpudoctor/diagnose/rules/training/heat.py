"""GD9: GPUs that are too hot, or were."""

from __future__ import annotations

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.slowdown_facts import stages_of
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import NvmlGpu, Snapshot


def _hottest(gpu: Gpu, snapshot: Snapshot) -> int | None:
    """While it was trained on."""
    return max((stage.temperature for stage in stages_of(gpu, snapshot) if isinstance(stage.temperature, int)), default=None)


def temperatures(gpu: Gpu, snapshot: Snapshot, seen: NvmlGpu) -> tuple[Evidence, ...]:
    """The temperatures that are known of this GPU, as evidence."""
    rows = (
        ("temperature during its training at most", _hottest(gpu, snapshot)),
        ("temperature at the first look", seen.temperature),
        ("temperature of the hardware's slowdown", seen.temperature_slowdown),
    )
    return tuple(Evidence(what, f"{value} °C", "NVML") for what, value in rows if isinstance(value, int))
