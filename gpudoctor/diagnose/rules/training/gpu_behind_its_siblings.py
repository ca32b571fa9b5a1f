from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.derive import CouldNotTell, GpuView
from gpudoctor.derive.stages import work_text
from gpudoctor.derive.telemetry import held_samples, throttle_text
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.training.clocks import lift_clock_limits, show_under_load
from gpudoctor.findings import REBOOT, ROOT, Confidence, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import NOT_ASKED, Missing, Span, StageLoad

LEAST_CLOCK_SHARE = 0.85
"""Share of the siblings' mean clock. Chips of one model differ by a few percent under the same load."""
LEAST_POWER_SHARE = LEAST_CLOCK_SHARE**3
"""Share of their mean power, which falls with the cube of the clock, because voltage falls too."""
ENOUGH_SAMPLES = 3
"""Samples of a stage that are enough for a comparison."""


class _Difference(msgspec.Struct, frozen=True):
    """A value of this GPU far from its siblings' mean, and the stage in which it was."""

    text: str
    evidence: Evidence
    stage: StageLoad


@rule("GD941", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False, seen_at=Level.TRAIN)
@explains(("gpu-slower-than-expected", "gpu-not-faster-than-cpu"), "A GPU with a lower clock than its siblings is slower.", Join.GPU)
def gpu_behind_its_siblings(gpu: GpuView) -> Problems:
    """GPU clock or power differs from its siblings under the same load."""
    comparisons = [(own, others) for load in gpu.loads for own in load.stages if (others := _sibling_stages(gpu, load.framework, own))]
    if not comparisons:
        raise CouldNotTell(Missing(NOT_ASKED.cause, "no other GPU of the same model ran the same training"), Rung.TRAINED)
    found = {difference.text: difference for own, others in comparisons for difference in _differences(own, others)}
    if not found:
        return
    stages = tuple(difference.stage for difference in found.values())
    reasons = throttle_text(held_samples(stages))
    why = f", limited by {reasons}" if reasons else ""
    yield Problem(
        message=f"{gpu.label} {' and '.join(found)} under the same load{why}.",
        confidence=Confidence.LIKELY,
        evidence=tuple(difference.evidence for difference in found.values()),
        fixes=(
            show_under_load(gpu, "CLOCK", "PERFORMANCE", "POWER", "TEMPERATURE"),
            *lift_clock_limits(gpu, stages),
            Fix(
                "Swap the GPU with another of the same model, to find out whether the card or its slot and cooling are at fault.",
                needs=(ROOT, REBOOT),
                kind=FixKind.ELSE,
            ),
        ),
    )


def _sibling_stages(gpu: GpuView, framework: str, own: StageLoad) -> list[StageLoad]:
    """Return the same stage of the same framework on the siblings; empty if there are too few samples."""
    stages = [other.stage_samples(framework, own.stage, own.network) for other in gpu.same_model]
    return [stage for stage in stages if stage and min(stage.samples, own.samples) >= ENOUGH_SAMPLES]


def _differences(own: StageLoad, others: list[StageLoad]) -> Iterator[_Difference]:
    where = f"NVML, {own.samples} samples during {work_text(own.stage, own.network)}"
    clocks = [stage.clock_sm.median for stage in others if isinstance(stage.clock_sm, Span)]
    if clocks and isinstance(own.clock_sm, Span) and own.clock_sm.median < LEAST_CLOCK_SHARE * mean(clocks):
        text = f"{own.clock_sm.median:,} MHz, its siblings at {mean(clocks):,.0f} MHz"
        yield _Difference(f"ran at {text},", Evidence("SM clock, mean of the siblings", text, where), own)
    powers = [stage.power for stage in others if isinstance(stage.power, int)]
    if not powers or not isinstance(own.power, int):
        return
    strays = len(powers) > 1 and LEAST_POWER_SHARE * own.power > mean(powers)  # of two GPUs, check the one that draws less
    if strays or own.power < LEAST_POWER_SHARE * mean(powers):
        text = f"{own.power / 1000:.0f} W, its siblings {mean(powers) / 1000:.0f} W"
        yield _Difference(f"drew {text},", Evidence("highest power, mean of the siblings", text, where), own)


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; importing statistics takes 6 ms."""
    return sum(values) / len(values)
