from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Stage, StageKind, StageState
from tests.builders import machine, smoke
from tests.diagnose.rules.asking import kinds_of, outcomes_of

RULE = "smoke-hung"


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (StageState.HUNG, OutcomeKind.FOUND),
        (StageState.STOPPED, OutcomeKind.COULD_NOT_TELL),
        (StageState.FAILED, OutcomeKind.PASSED),
        (StageState.DONE, OutcomeKind.PASSED),
    ],
)
def test_only_a_stage_that_hung_is_found(state: StageState, kind: OutcomeKind) -> None:
    stage = Stage(StageKind.TRAINING, state, error="was ended by the deadline", device="GPU:0")
    (outcome,) = outcomes_of(RULE, machine(1, smoke=(smoke(stages=(stage,), trainings=()),)))
    assert outcome.kind is kind
    assert outcome.reason == (
        "tensorflow 2.18.0: stage “training on GPU:0” was ended by the deadline" if state is StageState.STOPPED else ""
    )


def test_without_a_smoke_training_nothing_hangs() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
