from __future__ import annotations

import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import MemoryKills, Smoke, Stage, StageKind, StageState
from tests.builders import machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "host-memory-insufficient"
CRASHED = (Stage(StageKind.TRAINING, StageState.CRASHED, device="GPU:0", error="killed by signal 9"),)


def killed(count: int, *, of_machine: bool) -> Smoke:
    return smoke(1, trainings=(), stages=CRASHED, memory_kills=MemoryKills(count, "memory.events", of_machine=of_machine))


@pytest.mark.parametrize(("of_machine", "confidence"), [(True, Confidence.LIKELY), (False, Confidence.CERTAIN)])
def test_the_kernel_counts_what_it_kills(*, of_machine: bool, confidence: Confidence) -> None:
    (finding,) = findings_of(RULE, machine(1, smoke=(killed(1, of_machine=of_machine),)))
    assert finding.confidence is confidence
    assert "out of host memory" in finding.message


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(killed(0, of_machine=False),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
