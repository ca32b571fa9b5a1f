from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Held
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus
from tests.diagnose.rules.training.samples import stage, trained, watched

RULE = "hw-slowdown"


@pytest.mark.parametrize(("reasons", "kind"), [
    (0x8, OutcomeKind.FOUND), (0x48, OutcomeKind.PASSED), (0x88, OutcomeKind.PASSED), (0x4, OutcomeKind.PASSED),
])  # fmt: skip
def test_a_slowdown_with_a_reason_belongs_to_another_rule(reasons: int, kind: OutcomeKind) -> None:
    assert kinds_of(RULE, with_gpus({"clocks_event_reasons": reasons})) == [kind]


def test_a_slowdown_during_training_is_reported_with_its_share() -> None:
    (finding,) = findings_of(RULE, trained(watched(stage(held=(Held(0x8, 5), Held(0x4, 15))))))
    assert "was in hardware slowdown in 5 of 20 samples" in finding.message


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"clocks_event_reasons": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
