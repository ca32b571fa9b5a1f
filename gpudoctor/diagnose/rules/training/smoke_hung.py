from gpudoctor.derive import CouldNotTell, FrameworkView
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.diagnose.rules.training.smoke_stages import failed_stage_problems
from gpudoctor.findings import Domain, Level, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, StageState


@rule("GD905", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.ENVIRONMENT, predicts=False, seen_at=Level.TRAIN)
@explains(("required-gpus-missing",), "A GPU on which training hangs is not usable.")
def smoke_hung(framework: FrameworkView) -> Problems:
    """Smoke training hung."""
    yield from failed_stage_problems(framework, {StageState.HUNG})
    for stage in framework.smoke.stages:
        if stage.state is StageState.STOPPED:
            reason = f"{framework.label}: stage “{stage_name(stage)}” {stage.error}"
            raise CouldNotTell(Missing(Cause.TIMED_OUT, reason), Rung.TRAINED)
