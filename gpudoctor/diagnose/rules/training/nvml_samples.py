"""What NVML sampled of a GPU while its speed was measured, for findings."""

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.derive import GpuView
from gpudoctor.derive.slowdowns import SLOWER_SHARE
from gpudoctor.derive.stages import work_text
from gpudoctor.derive.telemetry import held_samples, throttle_text
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing, NvmlGpu, Span, StageKind, StageLoad


class MeasuredStage(msgspec.Struct, frozen=True):
    """A stage of a framework's smoke training in which a rate was measured."""

    framework: str
    stage: StageKind


class RateExplanation(msgspec.Struct, frozen=True):
    """What NVML says about a rate."""

    explanation: str
    """A sentence to append; empty where nothing explains a low rate."""
    evidence: tuple[Evidence, ...]
    limited: tuple[StageLoad, ...]
    """The stages in which the clock was low enough to explain it."""


def rate_explanation(gpu: GpuView, measured: Iterable[MeasuredStage], others: tuple[GpuView, ...] = ()) -> RateExplanation:
    """Return what NVML sampled in these stages, compared with `others` of the same model; without samples, its values before training."""
    sampled = {place: stage for place in measured if (stage := gpu.stage_samples(place.framework, place.stage))}
    told = ((stage, _explanation(gpu, stage, _best_clock(place, others))) for place, stage in sampled.items())
    explained = [(stage, text) for stage, text in told if text]
    evidence = tuple(row for stage in sampled.values() for row in _evidence_during_training(gpu, stage))
    return RateExplanation(
        explained[0][1] if explained else "", evidence or _evidence_before_training(gpu), tuple(stage for stage, _ in explained)
    )


def _best_clock(place: MeasuredStage, others: tuple[GpuView, ...]) -> int:
    stages = (gpu.stage_samples(place.framework, place.stage) for gpu in others)
    return max((stage.clock_sm.median for stage in stages if stage and isinstance(stage.clock_sm, Span)), default=0)


def _highest_clock(gpu: GpuView) -> int:
    """Return the highest SM clock that the GPU supports, in MHz; 0 if unknown."""
    seen = gpu.observed.nvml
    return seen.clock_sm_max if isinstance(seen, NvmlGpu) and isinstance(seen.clock_sm_max, int) else 0


def _explanation(gpu: GpuView, stage: StageLoad, best: int) -> str:
    """Return what the clock says about the speed; empty if it was near its maximum, or near `best` of another GPU."""
    if not isinstance(stage.clock_sm, Span):
        return ""
    clock, highest = stage.clock_sm.median, _highest_clock(gpu)
    behind = clock < SLOWER_SHARE * best
    reference = best if behind else highest
    if clock >= SLOWER_SHARE * reference:
        return ""
    peak = " (another GPU of the same model)" if behind else ""
    reasons = throttle_text(held_samples((stage,)))
    why = f"limited by {reasons}" if reasons else "no reason reported" if isinstance(stage.held, tuple) else "reason unknown"
    return f" SM clock {clock:,} of {reference:,} MHz{peak}, {why}."


def _evidence_before_training(gpu: GpuView) -> tuple[Evidence, ...]:
    """Return what may limit the GPU, from NVML before training."""
    seen = gpu.observed.nvml
    if not isinstance(seen, NvmlGpu):
        return ()
    rows = (
        ("highest SM clock", seen.clock_sm_max, "{} MHz"),
        ("highest memory clock", seen.clock_memory_max, "{} MHz"),
        ("power limit", _watts(seen.power_limit), "{} W"),
        ("temperature", seen.temperature, "{} °C"),
        ("PCIe lanes", seen.link_width, "{}"),
    )
    return tuple(Evidence(what, form.format(value), "NVML, before training") for what, value, form in rows if isinstance(value, int))


def _watts(milliwatts: int | Missing) -> int | Missing:
    return round(milliwatts / 1000) if isinstance(milliwatts, int) else milliwatts


def _evidence_during_training(gpu: GpuView, stage: StageLoad) -> Iterator[Evidence]:
    """Return what limited the GPU while it was measured."""
    where = f"NVML, {stage.samples} samples during {work_text(stage.stage, stage.network)}"
    seen = gpu.observed.nvml
    clocks = (
        ("SM clock", stage.clock_sm, seen.clock_sm_max if isinstance(seen, NvmlGpu) else 0),
        ("memory clock", stage.clock_memory, seen.clock_memory_max if isinstance(seen, NvmlGpu) else 0),
    )
    for what, span, highest in clocks:
        if isinstance(span, Span):
            most = f", maximum {highest:,} MHz" if isinstance(highest, int) and highest else ""
            yield Evidence(what, f"{span.lowest:,} to {span.highest:,} MHz, median {span.median:,}{most}", where)
    if isinstance(stage.held, tuple):
        yield Evidence("clocks limited by", throttle_text(stage.held) or "none", where)
    if isinstance(stage.power, int):
        limit = f" of {stage.power_limit / 1000:.0f}" if isinstance(stage.power_limit, int) else ""
        yield Evidence("highest power", f"{stage.power / 1000:.0f}{limit} W", where)
    if isinstance(stage.temperature, int):
        yield Evidence("highest temperature", f"{stage.temperature} °C", where)
