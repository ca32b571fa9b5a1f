"""GD903: smoke-did-not-learn."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, FrameworkView
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.flaws import flawed
from gpudoctor.findings import Level, Problem, Rung, Severity


@rule(
    "GD903",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
)
def smoke_did_not_learn(framework: FrameworkView) -> Iterator[Problem]:
    """Smoke training ran but did not learn.

    ## Why it matters
    The generated images have separable classes, and the network is known to learn them. If the loss does not fall or the accuracy stays
    low although every matmul was right, gradients or updates are wrong.

    ## What to do
    Run the check again; if it repeats, try another release of the framework.

    ## References
    - https://www.tensorflow.org/guide/core/mlp_core
    """
    yield from flawed(framework, Flaw.DID_NOT_LEARN, Flaw.NO_STEPS)
