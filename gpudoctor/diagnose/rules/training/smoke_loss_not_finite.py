"""GD911: smoke-loss-not-finite."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, FrameworkView
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.flaws import avoid_device, flawed
from gpudoctor.findings import Evidence, Level, Problem, Rung, Severity


@rule(
    "GD911",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
)
def smoke_loss_not_finite(framework: FrameworkView) -> Iterator[Problem]:
    """Smoke training loss became infinite or NaN.

    ## Why it matters
    Images, initial weights and learning rate are known to train without such a value. It spreads to every weight with the next update, so
    the model is lost, and usually only the loss shows it.

    ## What to do
    Run the check again on each GPU alone. One bad GPU among good ones is a hardware fault: take it out of service. If all are bad, suspect
    an operator of the framework or a library: try another release, and without your own settings for precision and compilation.

    ## References
    - https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html
    - https://www.tensorflow.org/api_docs/python/tf/debugging/enable_check_numerics
    """
    yield from flawed(framework, Flaw.NOT_FINITE)
    for step in framework.smoke.compiled:
        difference = step.loss_difference
        if not isinstance(difference, int | float):
            what = f"loss of a step compiled by {step.compiler} minus that of the same step uncompiled"
            yield Problem(
                message=f"{framework.label} on {step.device}: the {what} is {difference}.",
                evidence=(Evidence(what, str(difference), step.device),),
                fixes=avoid_device(step.device, framework),
            )
