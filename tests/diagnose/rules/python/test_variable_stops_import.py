from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Snapshot
from tests.builders import machine
from tests.diagnose.rules.asking import findings_of, kinds_of, shown_by

RULE = "variable-stops-import"


def test_a_recorded_machine_shows_the_defect() -> None:
    assert shown_by(RULE), "describe a machine with it in tests/machines/recipes/, then: scripts/record_machines MACHINE"


def test_a_machine_in_order_has_no_such_finding() -> None:
    assert findings_of(RULE, machine()) == []


def test_of_an_unknown_machine_nothing_is_said() -> None:
    assert not {OutcomeKind.FOUND, OutcomeKind.PASSED} & {*kinds_of(RULE, Snapshot(created=""))}
