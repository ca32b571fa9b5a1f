from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind
from tests.builders import ABSENT
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.multi_gpu.fabrics import REGISTERED, RUNNING, STOPPED, server

RULE = "fabric-not-ready"


def test_a_fabric_that_is_being_set_up_is_given_time() -> None:
    (finding,) = findings_of(RULE, server(fabric_manager=RUNNING))
    assert finding.confidence is Confidence.LIKELY
    assert "in-progress on 8 of 8 GPUs" in finding.message
    assert finding.fixes[0].command == "gpudoctor check --wait 300"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, server(REGISTERED, fabric_manager=RUNNING)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, server(fabric_manager=STOPPED)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, server(fabric_manager=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
