from gpudoctor.derive import Flaw, FrameworkView
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.flaws import flawed_training_problems
from gpudoctor.findings import Domain, Level, Problems, Rung, Severity


@rule("GD903", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.ENVIRONMENT, predicts=False, seen_at=Level.TRAIN)
def smoke_did_not_learn(framework: FrameworkView) -> Problems:
    """Smoke training ran but did not learn."""
    yield from flawed_training_problems(framework, Flaw.DID_NOT_LEARN, Flaw.NO_STEPS)
