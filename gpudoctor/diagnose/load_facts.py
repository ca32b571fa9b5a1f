"""How rules about speed speak of what NVML showed of a GPU while it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import holds, words
from gpudoctor.derive.stages import work
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing, NvmlGpu, Span, StageLoad

SLOWER = 0.9
"""Of a clock that could be: speed falls with it, so a rate that is too low is explained by one clearly below."""


def before(gpu: Gpu) -> tuple[Evidence, ...]:
    """What may hold the GPU back, as NVML said when it was first asked."""
    seen = gpu.nvml
    if not isinstance(seen, NvmlGpu):
        return ()
    rows = (
        ("SM clock at most", seen.clock_sm_max, "{} MHz"),
        ("memory clock at most", seen.clock_memory_max, "{} MHz"),
        ("reasons for the clocks", seen.clocks_event_reasons, "{:#x}"),
        ("power limit", seen.power_limit, "{} mW"),
        ("temperature", seen.temperature, "{} °C"),
        ("PCIe lanes", seen.link_width, "{}"),
    )
    return tuple(Evidence(what, form.format(value), "NVML, before the training") for what, value, form in rows if isinstance(value, int))


def during(gpu: Gpu, stage: StageLoad) -> tuple[Evidence, ...]:
    """What held the GPU, or did not, while it was measured."""
    where = f"NVML, {stage.samples} samples during {work(stage.stage, stage.network)}"
    return tuple(Evidence(what, value, where) for what, value in _rows(gpu, stage))


def _rows(gpu: Gpu, stage: StageLoad) -> Iterator[tuple[str, str]]:
    seen = gpu.nvml
    for what, span, most in (
        ("SM clock", stage.clock_sm, seen.clock_sm_max if isinstance(seen, NvmlGpu) else seen),
        ("memory clock", stage.clock_memory, seen.clock_memory_max if isinstance(seen, NvmlGpu) else seen),
    ):
        if isinstance(span, Span):
            of = f", at most {most:,} MHz" if isinstance(most, int) else ""
            yield what, f"{span.lowest:,} to {span.highest:,} MHz, median {span.median:,}{of}"
    if isinstance(stage.held, tuple):
        yield "what held the clocks", words(stage.held) or "nothing"
    if isinstance(stage.power, int):
        limit = f" of {stage.power_limit / 1000:.0f} W" if isinstance(stage.power_limit, int) else " W"
        yield "power at most", f"{stage.power / 1000:.0f}{limit}"
    if isinstance(stage.temperature, int):
        yield "temperature at most", f"{stage.temperature} °C"


def explanation(gpu: Gpu, stage: StageLoad, others: tuple[StageLoad, ...] = ()) -> str:
    """What its clock says of its speed, as a sentence to append; empty where its clock was as high as it can be, or as those of `others`."""
    clock = stage.clock_sm
    if isinstance(clock, Missing):
        return ""
    best = max((other.clock_sm.median for other in others if isinstance(other.clock_sm, Span)), default=0)
    most = gpu.nvml.clock_sm_max if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.clock_sm_max, int) else 0
    could, against = most, f"of at most {most:,}"
    if clock.median < SLOWER * best:
        could, against = best, f"where another of its kind here had {best:,}"
    if clock.median >= SLOWER * could:
        return ""
    held = words(holds((stage,)))
    why = f"held by {held}" if held else "and no reason is given" if isinstance(stage.held, tuple) else "and its reasons are not known"
    return f" Its SM clock was then {clock.median:,} MHz {against} ({clock.median / could:.0%}), {why}."
