"""What NVML showed of a GPU while it was trained on, in a line: the proof of place, and what its sensors said."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.telemetry import held_samples, loads_of_gpu, throttle_text
from gpudoctor.snapshot import Cause, GpuLoad, Loads, Missing, Smoke, Snapshot, Span

_BYTES_PER_MIB = 1 << 20


def telemetry_line(snapshot: Snapshot, smoke: Smoke, device: str) -> str:
    """The line of one device of one framework; empty where nothing was to be seen."""
    if isinstance(snapshot.loads, Missing):
        asked = device.startswith("GPU") and snapshot.loads.cause is not Cause.NOT_ASKED
        return f"nothing: {snapshot.loads.reason}" if asked else ""
    address = next(
        (training.address for training in smoke.trainings if training.device == device and isinstance(training.address, str)), ""
    )
    load = next((one for one in loads_of_gpu(snapshot, address) if one.framework == smoke.framework), None)
    return "; ".join(filter(None, _telemetry_parts(snapshot, snapshot.loads, load))) if load else ""


def _telemetry_parts(snapshot: Snapshot, loads: Loads, load: GpuLoad) -> Iterator[str]:
    yield _process_text(load)
    yield ", ".join(filter(None, (_clock_text(snapshot, load), _power_text(load), _temperature_text(load))))
    held = throttle_text(held_samples(load.stages))
    if held:
        yield f"clocks held by {held}"
    if loads.cut:
        yield f"then no more: {loads.cut}"


def _process_text(load: GpuLoad) -> str:
    """Whose process was there; the memory of the whole GPU where its list of processes cannot tell."""
    if load.listed is True:
        return f"its process with {load.own_memory / _BYTES_PER_MIB:,.0f} MiB" if isinstance(load.own_memory, int) else "its process"
    if load.listed is False:
        return "none of its processes"
    if isinstance(load.memory_before, int) and isinstance(load.memory_most, int):
        return f"processes not visible, {(load.memory_most - load.memory_before) / _BYTES_PER_MIB:+,.0f} MiB in use"
    return "processes not visible"


def _clock_text(snapshot: Snapshot, load: GpuLoad) -> str:
    medians = sorted(stage.clock_sm.median for stage in load.stages if isinstance(stage.clock_sm, Span))
    if not medians:
        return ""
    most = next((gpu.clock_sm_max for gpu in snapshot.listed_gpus if gpu.address == load.address), None)
    lowest = f"{medians[0]:,} to " if medians[0] < medians[-1] else ""
    return f"SM clock {lowest}{medians[-1]:,}{f' of {most:,}' if isinstance(most, int) else ''} MHz"


def _power_text(load: GpuLoad) -> str:
    powers = [stage.power for stage in load.stages if isinstance(stage.power, int)]
    limits = [stage.power_limit for stage in load.stages if isinstance(stage.power_limit, int)]
    return f"{max(powers) / 1000:.0f}{f' of {min(limits) / 1000:.0f}' if limits else ''} W" if powers else ""


def _temperature_text(load: GpuLoad) -> str:
    degrees = [stage.temperature for stage in load.stages if isinstance(stage.temperature, int)]
    return f"{max(degrees)} °C" if degrees else ""
