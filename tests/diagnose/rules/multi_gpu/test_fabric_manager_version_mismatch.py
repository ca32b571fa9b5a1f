from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import FabricManager, Fact
from tests.builders import ABSENT, TIMED_OUT
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.multi_gpu.fabrics import REGISTERED, RUNNING, server

RULE = "fabric-manager-version-mismatch"
OLD = FabricManager(running=True, version=Fact("535.54.03", "dpkg"))


def test_it_is_an_error_while_the_fabric_waits_and_a_note_while_cuda_works() -> None:
    (waiting,) = findings_of(RULE, server(fabric_manager=OLD))
    assert waiting.severity is Severity.ERROR
    assert waiting.message == "Fabric manager 535.54.03 does not match driver 550.163.01."
    (later,) = findings_of(RULE, server(REGISTERED, fabric_manager=OLD))
    assert later.severity is Severity.NOTE


def test_other_outcomes() -> None:
    assert kinds_of(RULE, server(fabric_manager=RUNNING)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, server(fabric_manager=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, server(fabric_manager=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, server(fabric_manager=FabricManager(running=True))) == [OutcomeKind.NOT_ASKED]
