"""GD904: smoke-crashed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.training.smoke import _ended
from gpudoctor.findings import Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Smoke, StageState


@rule(
    "GD904",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
    explains=(Explains(("required-gpus-missing",), ""),),
)
def smoke_crashed(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The smoke training ended in an error or a crash.

    ## Why it matters
    The framework raised, or its process died, in the stage named here. The same will happen to any training.

    ## What to do
    The stage and the framework's last words say where to look: import points to the installation, devices to driver and libraries,
    the first kernel to code for this GPU, the training to memory or libraries.

    ## References
    - https://www.tensorflow.org/install/errors
    """
    yield from _ended(smoke, {StageState.FAILED, StageState.CRASHED}, machine)
