"""GD903: smoke-did-not-learn."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, MachineView
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.smoke import _flawed
from gpudoctor.findings import Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Smoke


@rule(
    "GD903",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
)
def smoke_did_not_learn(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The smoke training ran and did not learn.

    ## Why it matters
    The images are generated so that their classes are separable and the network is known to learn them. Where loss does not fall or
    accuracy stays low although no product was seen to be wrong, gradients or updates are.

    ## What to do
    Run the check again; if it repeats, try another release of the framework.

    ## References
    - https://www.tensorflow.org/guide/core/mlp_core
    """
    yield from _flawed(smoke, {Flaw.DID_NOT_LEARN, Flaw.NO_STEPS}, machine)
