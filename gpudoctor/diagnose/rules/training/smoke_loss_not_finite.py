"""GD911: smoke-loss-not-finite."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, MachineView
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.smoke import _finite, _flawed, _without
from gpudoctor.findings import Evidence, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Smoke


@rule(
    "GD911",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
)
def smoke_loss_not_finite(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The loss of the smoke training became infinite or not a number.

    ## Why it matters
    Images, first weights and learning rate are known to train without such a value. It spreads to every weight with the next update, so
    a model that meets it is lost, and mostly nothing says so but the loss.

    ## What to do
    Run the check again on each GPU alone. One bad GPU among good ones is a hardware fault: take it out of service. All bad points to
    an operator of the framework or a library: try another release, and without settings of your own for precision and compilation.

    ## References
    - https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html
    - https://www.tensorflow.org/api_docs/python/tf/debugging/enable_check_numerics
    """
    yield from _flawed(smoke, {Flaw.NOT_FINITE}, machine)
    for step in smoke.compiled:
        if not _finite(step.loss_difference):
            what = f"loss of a step compiled by {step.compiler}, less that of the same step uncompiled"
            yield Problem(
                message=f"{smoke.framework} on {step.device}: the {what}, is {step.loss_difference}.",
                evidence=(Evidence(what, str(step.loss_difference), step.device),),
                fixes=_without(step.device, smoke, machine),
            )
