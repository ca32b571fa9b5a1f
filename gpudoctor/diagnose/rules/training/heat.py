"""Everything that shows a GPU or its memory to be too hot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.derive import GpuView
from gpudoctor.derive.telemetry import HW_THERMAL, SW_THERMAL
from gpudoctor.diagnose.rules.training.slowdowns import duration, held_evidence, how_often, is_or_was, slowdown_evidence
from gpudoctor.findings import Evidence, Severity
from gpudoctor.snapshot import Heat, Missing


class HeatFault(NamedTuple):
    """What is wrong: the end of a sentence about the GPU, its severity and its evidence."""

    text: str
    severity: Severity
    evidence: Evidence
    repeats: bool = False
    """It says no more than that heat slows the clocks down."""


def heat_faults(gpu: GpuView) -> tuple[HeatFault, ...]:
    """The faults; where there are none, ends the rule if NVML says nothing about slowdowns."""
    others = (*_over_limits(gpu), *_over_margins(gpu), *_memory(gpu), *_held(gpu))
    silent = isinstance(gpu.nvml.clocks_event_reasons, Missing) and not gpu.stages_under_load
    slowed = () if silent and others else tuple(_slowed(gpu))
    return (*slowed, *(fault for fault in others if not (slowed and fault.repeats)))


def _slowed(gpu: GpuView) -> Iterator[HeatFault]:
    """A slowdown because of heat that NVML named."""
    slowdown = gpu.slowdown(SW_THERMAL | HW_THERMAL)
    if slowdown:
        by = "hardware" if slowdown.reasons & HW_THERMAL else "driver"
        hottest = gpu.hottest_under_load if slowdown.under_load else gpu.nvml.temperature
        up_to = "up to " if slowdown.under_load else ""
        degrees = f" at {up_to}{hottest} °C" if isinstance(hottest, int) else ""
        text = f"{is_or_was(slowdown)} slowed down by the {by} because of heat{degrees}{how_often(slowdown)}"
        yield HeatFault(text, Severity.WARNING, slowdown_evidence(f"thermal slowdown by the {by}", slowdown))


def _over_limits(gpu: GpuView) -> Iterator[HeatFault]:
    """A temperature at or over the highest limit that it reached."""
    read = (gpu.nvml.temperature, gpu.hottest_under_load)
    hottest = max((degrees for degrees in read if isinstance(degrees, int)), default=0)
    shutdown, slowdown = gpu.nvml.temperature_shutdown, gpu.nvml.temperature_slowdown
    if isinstance(shutdown, int) and hottest >= shutdown > 0:
        evidence = Evidence("temperature, where it shuts down", f"{hottest} °C, {shutdown} °C", "NVML")
        yield HeatFault(f"reached {hottest} °C and shuts down at {shutdown} °C", Severity.ERROR, evidence)
    elif isinstance(slowdown, int) and hottest >= slowdown > 0:
        evidence = Evidence("temperature, where it slows its clocks", f"{hottest} °C, {slowdown} °C", "NVML")
        yield HeatFault(f"reached {hottest} °C and slows its clocks at {slowdown} °C", Severity.WARNING, evidence, repeats=True)


def _over_margins(gpu: GpuView) -> Iterator[HeatFault]:
    """A thermal margin at or below the lowest limit that it reached; newer GPUs have margins instead of temperatures."""
    heat = gpu.nvml.heat
    if isinstance(heat, Missing) or isinstance(heat.margin, Missing):
        return
    margin, source = heat.margin, "nvmlDeviceGetMarginTemperature"
    if isinstance(heat.shutdown_tlimit, int) and margin <= heat.shutdown_tlimit:
        evidence = Evidence("T.Limit, where it shuts down", f"{margin} °C, {heat.shutdown_tlimit} °C", source)
        yield HeatFault(f"has a thermal margin of {margin} °C and shuts down at {heat.shutdown_tlimit} °C", Severity.ERROR, evidence)
    elif isinstance(heat.slowdown_tlimit, int) and margin <= heat.slowdown_tlimit:
        evidence = Evidence("T.Limit, where it slows its clocks", f"{margin} °C, {heat.slowdown_tlimit} °C", source)
        text = f"has a thermal margin of {margin} °C and slows its clocks at {heat.slowdown_tlimit} °C"
        yield HeatFault(text, Severity.WARNING, evidence, repeats=True)


def _memory(gpu: GpuView) -> Iterator[HeatFault]:
    heat = gpu.nvml.heat if isinstance(gpu.nvml.heat, Heat) else Heat()
    if isinstance(heat.memory, int) and isinstance(heat.memory_limit, int) and heat.memory >= heat.memory_limit > 0:
        evidence = Evidence("memory temperature, limit", f"{heat.memory} °C, {heat.memory_limit} °C", "NVML")
        yield HeatFault(f"has its memory at {heat.memory} °C (limit {heat.memory_limit} °C)", Severity.WARNING, evidence)


def _held(gpu: GpuView) -> Iterator[HeatFault]:
    """The time that NVML counted: rising now, or in the past."""
    time = gpu.held_time("thermal", "thermal_by_driver", "thermal_by_hardware")
    if time.now:
        yield HeatFault("is held back by heat at this moment", Severity.WARNING, held_evidence("heat", time), repeats=True)
    elif time.matters:
        text = f"was held back by heat for {duration(time)} since the driver was loaded"
        yield HeatFault(text, Severity.NOTE, held_evidence("heat", time))
