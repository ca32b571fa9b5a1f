from gpudoctor.derive import GpuView
from gpudoctor.derive.telemetry import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE
from gpudoctor.diagnose.rule import GPU_IS_SLOW, Join, explains, rule
from gpudoctor.diagnose.rules.training.clocks import RESEAT_CABLES, show_under_load
from gpudoctor.diagnose.rules.training.slowdowns import sample_count_clause, slowdown_evidence, temperature_evidence, tense_of_slowdown
from gpudoctor.findings import Impact, Level, Problem, Problems, Rung, Severity


@rule("GD908", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False, sees_more_at=Level.TRAIN)
@explains(GPU_IS_SLOW, "A hardware slowdown halves the clocks, or worse.", Join.GPU)
def hw_slowdown(gpu: GpuView) -> Problems:
    """GPU hardware lowered the clocks for an unknown reason."""
    slowdown = gpu.slowdown(HW_SLOWDOWN, unless=HW_THERMAL | POWER_BRAKE)
    if slowdown:
        yield Problem(
            message=f"{gpu.label} {tense_of_slowdown(slowdown)} in hardware slowdown{sample_count_clause(slowdown)}; "
            "the driver does not say whether heat or power is the cause.",
            evidence=(slowdown_evidence("hardware slowdown", slowdown), *temperature_evidence(gpu)),
            fixes=(show_under_load(gpu, "PERFORMANCE", "POWER", "TEMPERATURE"), RESEAT_CABLES),
        )
