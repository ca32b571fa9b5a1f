"""GD905: smoke-hung."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.training.smoke import _ended
from gpudoctor.findings import Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, Missing, Smoke, StageState


@rule(
    "GD905",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
    explains=(Explains(("required-gpus-missing",), ""),),
)
def smoke_hung(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The smoke training stopped making progress.

    ## Why it matters
    A stage gave no sign of life for far longer than any machine needs for it. A driver that does not answer, a library that
    compiles for minutes, or a deadlock between GPUs look like this.

    ## What to do
    Look for processes that cannot be interrupted (state D) and at the kernel's log; then try again with more time.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    yield from _ended(smoke, {StageState.HUNG}, machine)
    for stage in smoke.stages:
        if stage.state is StageState.STOPPED:
            need(Missing(Cause.TIMED_OUT, f"{smoke.framework}: the stage “{stage_name(stage)}” {stage.error}"), Rung.TRAINED)
