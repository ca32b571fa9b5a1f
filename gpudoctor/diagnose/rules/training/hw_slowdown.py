"""GD908: hw-slowdown."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE
from gpudoctor.diagnose.gpu_facts import known
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.training.heat import temperatures
from gpudoctor.diagnose.slowdown_facts import slowdown
from gpudoctor.findings import Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Snapshot


@rule(
    "GD908",
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
def hw_slowdown(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU's hardware has slowed its clocks down and does not say why.

    ## Why it matters
    The hardware halves the clocks, or worse, when it is too hot, when the power supply asks for it, or when power is drawn too fast.
    Where the driver tells which, power-throttled or thermal-throttled says so; here it does not.

    ## What to do
    Check power cables and supply first, then cooling.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    slowed = slowdown(gpu, snapshot, HW_SLOWDOWN, unless=HW_THERMAL | POWER_BRAKE)
    if slowed:
        yield Problem(
            message=f"{gpu.label} {slowed.was} slowed down by its hardware{slowed.often}; the driver does not say whether for heat or power.",
            evidence=(slowed.evidence("hardware slowdown"), *temperatures(gpu, snapshot, known(gpu))),
            fixes=(
                Fix(
                    "See which it is, while it works",
                    f"nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE -i {gpu.key}",
                    kind=FixKind.CHECK,
                ),
                Fix("Reseat the card's power cables; then replace the power supply, or improve the cooling."),
            ),
        )
