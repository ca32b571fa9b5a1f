from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "ecc-change-pending"


@pytest.mark.parametrize(("now", "text"), [(False, "ECC is off and will be on"), (True, "ECC is on and will be off")])
def test_a_change_can_be_undone(now: bool, text: str) -> None:
    change = {"ecc_enabled": now, "ecc_pending": not now}
    (finding,) = findings_of(RULE, with_gpus(change))
    assert text in finding.message
    assert finding.fixes[1].command.endswith(f"--ecc-config={int(now)}")
    (inside,) = findings_of(RULE, with_gpus(change, container=in_docker()))
    assert len(inside.fixes) == 1


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"ecc_enabled": True, "ecc_pending": True})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"ecc_enabled": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
