"""GD9: GPUs that are too hot."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import HW_THERMAL, SW_THERMAL
from gpudoctor.diagnose.fixes import ROOT
from gpudoctor.diagnose.gpu_facts import known
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.slowdown_facts import slowdown, stages_of
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import NvmlGpu, Snapshot


@rule("GD907", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def thermal_throttled(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU is slowed down because it is too hot.

    ## Why it matters
    Driver or hardware lower the clocks until the temperature falls: trainings slow down, by half or more where the hardware does it.

    ## What to do
    Look at fans, dust, airflow and neighbouring cards; a passively cooled server card needs the server's airflow.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    slowed = slowdown(gpu, snapshot, SW_THERMAL | HW_THERMAL)
    if not slowed:
        return
    by = "hardware" if slowed.reasons & HW_THERMAL else "driver"
    hottest = _hottest(gpu, snapshot) if slowed.often else seen.temperature
    degrees = f" at {'up to ' * bool(slowed.often)}{hottest} °C" if isinstance(hottest, int) else ""
    yield Problem(
        message=f"{gpu.label} {slowed.was} slowed down by the {by} because of heat{degrees}{slowed.often}.",
        evidence=(slowed.evidence(f"thermal slowdown by the {by}"), *temperatures(gpu, snapshot, seen)),
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


RULES = (thermal_throttled,)
