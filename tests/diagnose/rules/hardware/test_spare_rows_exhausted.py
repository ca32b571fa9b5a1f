from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import SpareRows
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "spare-rows-exhausted"


@pytest.mark.parametrize(("low", "none", "severity"), [(0, 0, None), (3, 0, Severity.NOTE), (3, 1, Severity.WARNING)])
def test_banks_with_few_or_no_spare_rows(low: int, none: int, severity: Severity | None) -> None:
    rows = SpareRows(max=600, high=1, partial=1, low=low, none=none)
    assert [finding.severity for finding in findings_of(RULE, with_gpus({"spare_rows": rows}))] == ([severity] if severity else [])


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"spare_rows": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
