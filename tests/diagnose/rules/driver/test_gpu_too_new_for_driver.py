from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import ABSENT, card
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.branches import GTX_1080, refused

RULE = "gpu-too-new-for-driver"
RTX_5090 = card(0, device="2b85", driver=ABSENT)


def test_a_branch_before_blackwell() -> None:
    (finding,) = findings_of(RULE, refused(RTX_5090, "550.163.01"))
    assert "branch 550 supports compute capability" in finding.message


def test_a_gpu_that_the_branch_supports_is_none() -> None:
    assert kinds_of(RULE, refused(GTX_1080, "550.163.01")) == [OutcomeKind.PASSED]


def test_a_gpu_that_no_list_names_is_not_judged() -> None:
    assert kinds_of(RULE, refused(card(0, device="fff0", driver=ABSENT), "550.163.01")) == [OutcomeKind.NOT_ASKED]


def test_a_branch_newer_than_the_tables_is_not_judged() -> None:
    assert kinds_of(RULE, refused(GTX_1080, "999.10")) == [OutcomeKind.NOT_ASKED]
