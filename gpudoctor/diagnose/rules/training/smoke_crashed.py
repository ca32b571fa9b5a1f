from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.diagnose.rules.training.smoke_stages import failed_stage_problems
from gpudoctor.findings import Domain, Impact, Level, Problems, Rung, Severity
from gpudoctor.snapshot import StageState


@rule(
    "GD904",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    impact=Impact.PARTLY,
    domain=Domain.ENVIRONMENT,
    predicts=False,
    seen_at=Level.TRAIN,
)
@explains(("required-gpus-missing",), "A GPU on which training crashes is not usable.")
def smoke_crashed(framework: FrameworkView) -> Problems:
    """Smoke training failed or crashed."""
    yield from failed_stage_problems(framework, {StageState.FAILED, StageState.CRASHED})
