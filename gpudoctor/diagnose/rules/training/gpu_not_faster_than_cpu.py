from gpudoctor.derive import CouldNotTell, GpuView
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.clocks import lift_clock_limits, show_under_load
from gpudoctor.diagnose.rules.training.nvml_samples import MeasuredStage, rate_explanation
from gpudoctor.findings import Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import NOT_ASKED, Missing, StageKind


@rule("GD910", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False, seen_at=Level.TRAIN)
def gpu_not_faster_than_cpu(gpu: GpuView) -> Problems:
    """GPU trains no faster than the CPU."""
    compared = [(smoke.framework, speed) for smoke in gpu.machine.smoke for speed in smoke.speeds if speed.address == gpu.key]
    if not compared:
        raise CouldNotTell(Missing(NOT_ASKED.cause, "no framework compared its speed with the CPU"), Rung.TRAINED)
    for framework, speed in compared:
        here, there = speed.samples_per_second, speed.cpu_samples_per_second
        if not isinstance(here, int | float) or not isinstance(there, int | float) or here > there:
            continue
        sampled = rate_explanation(gpu, [MeasuredStage(framework, StageKind.SPEED)])
        yield Problem(
            message=f"{gpu.label}: {framework} trains {here:,.0f} images/s on the GPU and {there:,.0f} images/s on the CPU.{sampled.explanation}",
            evidence=(
                Evidence("images/s on the GPU, on the CPU", f"{here:,.0f}, {there:,.0f}", f"{framework}, {speed.network} network"),
                *sampled.evidence,
            ),
            fixes=(
                show_under_load(gpu, "UTILIZATION", "CLOCK", "PERFORMANCE", "POWER", "TEMPERATURE"),
                *lift_clock_limits(gpu, sampled.limited),
                Fix("Train on the CPU", f"export {MASK_VARIABLE}=", kind=FixKind.INSTEAD),
            ),
        )
