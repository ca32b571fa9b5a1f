from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import RetiredPages
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "pages-retirement-pending"


@pytest.mark.parametrize(
    ("single", "double", "pending", "times"), [(0, 1, False, 0), (0, 1, True, 1), (30, 30, False, 1), (60, 1, True, 2)]
)
def test_pending_pages_and_too_many_are_two_problems(single: int, double: int, pending: bool, times: int) -> None:
    pages = RetiredPages(single_bit=single, double_bit=double, pending=pending)
    assert len(findings_of(RULE, with_gpus({"retired_pages": pages}))) == times


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"retired_pages": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
