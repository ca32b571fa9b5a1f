"""Slowdowns of a GPU, as findings word them."""

from gpudoctor.derive import GpuView
from gpudoctor.derive.slowdowns import HeldTime, Slowdown
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import NvmlGpu

REASONS_SOURCE, TRAINING_SOURCE = "NVML, clocks event reasons", "NVML, during the training run"


def tense_of_slowdown(slowdown: Slowdown) -> str:
    """Return the verb for a sentence about a slowdown."""
    return "was" if slowdown.under_load else "is"


def sample_count_clause(slowdown: Slowdown) -> str:
    """Return in how many samples it was seen, to append to a sentence; empty outside a training run."""
    return f" in {slowdown.samples} of {slowdown.of} samples during the training run" if slowdown.under_load else ""


def slowdown_evidence(what: str, slowdown: Slowdown) -> Evidence:
    """Return a slowdown as evidence."""
    seen = sample_count_clause(slowdown).strip() or "yes"
    return Evidence(what, f"{seen} ({slowdown.reasons:#x})", TRAINING_SOURCE if slowdown.under_load else REASONS_SOURCE)


def duration_text(time: HeldTime) -> str:
    """Return the total time: 0.4 s, 12 min, 3.1 h."""
    seconds = time.total / 1e9
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def throttling_evidence(what: str, time: HeldTime) -> Evidence:
    """Return how long something limited the clocks, and how that grew."""
    more = f", {time.grown / 1e6:,.0f} ms more a moment later" if time.now else ""
    return Evidence(f"clocks limited by {what} since the driver was loaded", f"{duration_text(time)}{more}", "NVML")


def temperature_evidence(gpu: GpuView) -> tuple[Evidence, ...]:
    """Return the known temperatures of the GPU."""
    seen = gpu.observed.nvml
    rows = {
        "highest temperature during the training run": gpu.hottest_under_load,
        "temperature before the training run": seen.temperature if isinstance(seen, NvmlGpu) else None,
        "slowdown temperature": seen.temperature_slowdown if isinstance(seen, NvmlGpu) else None,
    }
    return tuple(Evidence(what, f"{value} °C", "NVML") for what, value in rows.items() if isinstance(value, int))
