"""GD907: thermal-throttled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import HW_THERMAL, SW_THERMAL
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import known
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.training.heat import _hottest, temperatures
from gpudoctor.diagnose.slowdown_facts import held_for, slowdown, stages_of
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Heat, NvmlGpu, Snapshot


class _Fault(NamedTuple):
    """What is wrong, as the end of a sentence about the GPU; how grave it is; how it was seen."""

    text: str
    severity: Severity
    evidence: Evidence
    repeats: bool = False
    """It says no more than that the clocks are slowed down because of heat."""


def _slowed(gpu: Gpu, snapshot: Snapshot, seen: NvmlGpu) -> Iterator[_Fault]:
    """A slowdown because of heat that NVML named. Ends the rule where NVML says nothing of slowdowns."""
    slowed = slowdown(gpu, snapshot, SW_THERMAL | HW_THERMAL)
    if slowed:
        by = "hardware" if slowed.reasons & HW_THERMAL else "driver"
        hottest = _hottest(gpu, snapshot) if slowed.often else seen.temperature
        degrees = f" at {'up to ' * bool(slowed.often)}{hottest} °C" if isinstance(hottest, int) else ""
        text = f"{slowed.was} slowed down by the {by} because of heat{degrees}{slowed.often}"
        yield _Fault(text, Severity.WARNING, slowed.evidence(f"thermal slowdown by the {by}"))


def _over(gpu: Gpu, snapshot: Snapshot, seen: NvmlGpu) -> Iterator[_Fault]:
    """Temperatures at or over the limits that this GPU names, the gravest of each kind."""
    heat = seen.heat if isinstance(seen.heat, Heat) else Heat()
    hottest = max((value for value in (seen.temperature, _hottest(gpu, snapshot)) if isinstance(value, int)), default=None)
    limits = (
        (seen.temperature_shutdown, "shuts down", Severity.ERROR),
        (seen.temperature_slowdown, "slows its clocks", Severity.WARNING),
    )
    for limit, does, severity in limits:
        if hottest is not None and isinstance(limit, int) and hottest >= limit > 0:
            evidence = Evidence(f"temperature, where it {does}", f"{hottest} °C, {limit} °C", "NVML")
            yield _Fault(f"reached {hottest} °C and {does} at {limit} °C", severity, evidence, severity is Severity.WARNING)
            break
    margins = ((heat.shutdown_tlimit, "shuts down", Severity.ERROR), (heat.slowdown_tlimit, "slows its clocks", Severity.WARNING))
    for limit, does, severity in margins:
        if isinstance(heat.margin, int) and isinstance(limit, int) and heat.margin <= limit:
            evidence = Evidence(f"T.Limit, where it {does}", f"{heat.margin} °C, {limit} °C", "nvmlDeviceGetMarginTemperature")
            yield _Fault(
                f"has a thermal margin of {heat.margin} °C and {does} at {limit} °C", severity, evidence, severity is Severity.WARNING
            )
            break
    if isinstance(heat.memory, int) and isinstance(heat.memory_limit, int) and heat.memory >= heat.memory_limit > 0:
        evidence = Evidence("memory temperature, limit", f"{heat.memory} °C, {heat.memory_limit} °C", "NVML")
        yield _Fault(f"has its memory at {heat.memory} °C, its limit is {heat.memory_limit} °C", Severity.WARNING, evidence)


def _held(gpu: Gpu) -> Iterator[_Fault]:
    """The time that NVML counted: rising now, or long past."""
    held = held_for(gpu, "thermal", "thermal_by_driver", "thermal_by_hardware")
    if held.now:
        yield _Fault("is held back because of heat at this moment", Severity.WARNING, held.evidence("heat"), repeats=True)
    elif held.matters:
        text = f"was held back because of heat for {held.duration} since the driver was loaded"
        yield _Fault(text, Severity.NOTE, held.evidence("heat"))


@rule(
    "GD907",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    sees_more_at=Level.TRAIN,
    of_training=True,
    explains=(
        Explains(
            (
                "gpu-behind-its-siblings",
                "gpu-slower-than-expected",
                "gpu-not-faster-than-cpu",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def thermal_throttled(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU or its memory is too hot, or was slowed down because of heat.

    ## Why it matters
    Driver or hardware lower the clocks until the temperature falls: trainings slow down, by half or more where the hardware does it.
    At the shutdown limit the GPU switches itself off. Memory has a sensor and a limit of its own. Newer GPUs name no absolute limits
    but a margin (T.Limit) that counts down as they warm up. Time that was lost to heat before, and is not being lost now, is a note.

    ## What to do
    Look at fans, dust, airflow and neighbouring cards; a passively cooled server card needs the server's airflow. Until that is done, a
    lower power limit keeps the GPU below its limits.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://docs.nvidia.com/deploy/nvidia-smi/
    """
    seen = known(gpu)
    over, held = list(_over(gpu, snapshot, seen)), list(_held(gpu))
    silent = not isinstance(seen.clocks_event_reasons, int) and not stages_of(gpu, snapshot)
    slowed = [] if silent and (over or held) else list(_slowed(gpu, snapshot, seen))
    faults = [*slowed, *(fault for fault in (*over, *held) if not (slowed and fault.repeats))]
    if faults:
        yield Problem(
            message=f"{gpu.label} {', '.join(fault.text for fault in faults)}.",
            severity=max(fault.severity for fault in faults),
            evidence=(*(fault.evidence for fault in faults), *temperatures(gpu, snapshot, seen)),
            fixes=(
                Fix("Watch its temperature while it works", f"nvidia-smi -q -d TEMPERATURE,PERFORMANCE -i {gpu.key}", kind=FixKind.CHECK),
                Fix("Clean fans and filters, and give the card more airflow."),
                *_cooler(gpu, seen),
            ),
        )


def _cooler(gpu: Gpu, seen: NvmlGpu) -> tuple[Fix, ...]:
    """Until the cooling is better: less power makes less heat."""
    default = seen.power_limit_default
    if not isinstance(default, int):
        return ()
    watts = default * 8 // 10 // 1000
    return (
        Fix(f"Until then, lower its power limit to {watts} W", f"sudo nvidia-smi -i {gpu.key} -pl {watts}", (ROOT,), kind=FixKind.INSTEAD),
    )
