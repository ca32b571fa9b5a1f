"""Everything that shows a GPU or its memory to be too hot."""

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import GpuView
from gpudoctor.derive.telemetry import HW_THERMAL, SW_THERMAL
from gpudoctor.diagnose.rules.training.slowdowns import (
    duration_text,
    sample_count_clause,
    slowdown_evidence,
    tense_of_slowdown,
    throttling_evidence,
)
from gpudoctor.findings import Evidence, Severity
from gpudoctor.snapshot import Heat, Missing


class HeatFault(msgspec.Struct, frozen=True):
    """A fault; `text` completes "the GPU ..."."""

    text: str
    severity: Severity
    evidence: Evidence
    repeats: bool = False
    """It only says that heat lowers the clocks."""


def heat_faults(gpu: GpuView) -> tuple[HeatFault, ...]:
    """Return the faults; if there are none, ends the rule if NVML does not report slowdowns."""
    others = (*_temperature_faults(gpu), *_margin_faults(gpu), *_memory_faults(gpu), *_throttling_faults(gpu))
    silent = isinstance(gpu.nvml.clocks_event_reasons, Missing) and not gpu.stages_under_load
    slowed = () if silent and others else tuple(_slowdown_faults(gpu))
    return (*slowed, *(fault for fault in others if not (slowed and fault.repeats)))


def _slowdown_faults(gpu: GpuView) -> Iterator[HeatFault]:
    """A thermal slowdown that NVML reports."""
    slowdown = gpu.slowdown(SW_THERMAL | HW_THERMAL)
    if slowdown:
        by = "hardware" if slowdown.reasons & HW_THERMAL else "driver"
        hottest = gpu.hottest_under_load if slowdown.under_load else gpu.nvml.temperature
        up_to = "up to " if slowdown.under_load else ""
        degrees = f" at {up_to}{hottest} °C" if isinstance(hottest, int) else ""
        text = f"{tense_of_slowdown(slowdown)} thermally throttled by the {by}{degrees}{sample_count_clause(slowdown)}"
        yield HeatFault(text, Severity.WARNING, slowdown_evidence(f"thermal slowdown by the {by}", slowdown))


def _temperature_faults(gpu: GpuView) -> Iterator[HeatFault]:
    """A temperature at or above a limit."""
    hottest = max((degrees for degrees in (gpu.nvml.temperature, gpu.hottest_under_load) if isinstance(degrees, int)), default=0)
    shutdown, slowdown = gpu.nvml.temperature_shutdown, gpu.nvml.temperature_slowdown
    limit = gpu.nvml.heat if isinstance(gpu.nvml.heat, Missing) else gpu.nvml.heat.gpu_limit
    if _is_reached(hottest, shutdown):
        evidence = Evidence("temperature, shutdown limit", f"{hottest} °C, {shutdown} °C", "NVML")
        yield HeatFault(f"reached {hottest} °C (shutdown limit {shutdown} °C)", Severity.ERROR, evidence)
    elif _is_reached(hottest, slowdown):
        evidence = Evidence("temperature, slowdown limit", f"{hottest} °C, {slowdown} °C", "NVML")
        yield HeatFault(f"reached {hottest} °C (slowdown limit {slowdown} °C)", Severity.WARNING, evidence, repeats=True)
    elif _is_reached(hottest, limit):
        evidence = Evidence("temperature, maximum operating temperature", f"{hottest} °C, {limit} °C", "NVML")
        yield HeatFault(f"reached {hottest} °C (maximum operating temperature {limit} °C)", Severity.WARNING, evidence, repeats=True)


def _is_reached(degrees: int | Missing, limit: int | Missing) -> bool:
    """Return whether a temperature is at or above a limit; 0 °C is none."""
    return isinstance(degrees, int) and isinstance(limit, int) and degrees >= limit > 0


def _margin_faults(gpu: GpuView) -> Iterator[HeatFault]:
    """A thermal margin at or below a limit; newer GPUs report margins instead of temperatures."""
    heat = gpu.nvml.heat
    if isinstance(heat, Missing) or isinstance(heat.margin, Missing):
        return
    margin, source = heat.margin, "nvmlDeviceGetMarginTemperature"
    if isinstance(heat.shutdown_tlimit, int) and margin <= heat.shutdown_tlimit:
        evidence = Evidence("T.Limit, shutdown limit", f"{margin} °C, {heat.shutdown_tlimit} °C", source)
        yield HeatFault(f"has a thermal margin of {margin} °C (shutdown at {heat.shutdown_tlimit} °C)", Severity.ERROR, evidence)
        return
    limits = [limit for limit in (heat.slowdown_tlimit, heat.gpu_tlimit) if isinstance(limit, int)]
    slowdown = max(limits, default=0)  # the margin is the distance to the nearest slowdown
    if margin <= slowdown:
        evidence = Evidence("T.Limit, slowdown limit", f"{margin} °C, {slowdown} °C", source)
        yield HeatFault(f"has a thermal margin of {margin} °C (slowdown at {slowdown} °C)", Severity.WARNING, evidence, repeats=True)


def _memory_faults(gpu: GpuView) -> Iterator[HeatFault]:
    heat = gpu.nvml.heat if isinstance(gpu.nvml.heat, Heat) else Heat()
    if _is_reached(heat.memory, heat.memory_limit):
        evidence = Evidence("memory temperature, limit", f"{heat.memory} °C, {heat.memory_limit} °C", "NVML")
        yield HeatFault(f"has hot memory: {heat.memory} °C (limit {heat.memory_limit} °C)", Severity.WARNING, evidence)


def _throttling_faults(gpu: GpuView) -> Iterator[HeatFault]:
    """The throttling time that NVML counts: rising now, or in the past."""
    time = gpu.held_time("thermal", "thermal_by_driver", "thermal_by_hardware")
    if time.now:
        yield HeatFault("is being throttled by heat right now", Severity.WARNING, throttling_evidence("heat", time), repeats=True)
    elif time.is_relevant:
        text = f"was throttled by heat for {duration_text(time)} since the driver was loaded"
        yield HeatFault(text, Severity.NOTE, throttling_evidence("heat", time))
