from gpudoctor.derive import Flaw, FrameworkView
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.flaws import avoid_device, flawed_training_problems
from gpudoctor.findings import Domain, Evidence, Level, Problem, Problems, Rung, Severity


@rule("GD911", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.ENVIRONMENT, predicts=False, seen_at=Level.TRAIN)
def smoke_loss_not_finite(framework: FrameworkView) -> Problems:
    """Training loss became infinite or NaN."""
    yield from flawed_training_problems(framework, Flaw.NOT_FINITE)
    for step in framework.smoke.compiled:
        difference = step.loss_difference
        if not isinstance(difference, int | float):
            what = f"loss difference between the {step.compiler}-compiled and the uncompiled step"
            yield Problem(
                message=f"{framework.label} on {step.device}: {what} is {difference}.",
                evidence=(Evidence(what, str(difference), step.device),),
                fixes=avoid_device(step.device, framework),
            )
