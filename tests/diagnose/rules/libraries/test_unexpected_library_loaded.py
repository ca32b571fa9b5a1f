from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Missing
from tests.builders import smoke
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.examined import OPT, environment, use

RULE = "unexpected-library-loaded"
CUDART = use("cudart", "libcudart.so.12", f"{OPT}/libcudart.so.12")
OTHER = "/srv/audit/libcudart.so.12"


def test_another_file_than_the_xray_expected() -> None:
    (found,) = findings_of(RULE, environment(CUDART, smoke=(smoke(1, mapped=(OTHER,)),)))
    assert found.message == f"tensorflow 2.18.0 loaded {OTHER}; expected {OPT}/libcudart.so.12."


def test_other_outcomes() -> None:
    assert kinds_of(RULE, environment(CUDART, smoke=(smoke(1, mapped=(f"{OPT}/libcudart.so.12",)),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, environment(CUDART)) == [OutcomeKind.NOT_ASKED]
    unread = Missing(Cause.DENIED, "/proc/self/maps: Permission denied")
    assert kinds_of(RULE, environment(CUDART, smoke=(smoke(1, mapped=unread),))) == [OutcomeKind.COULD_NOT_TELL]
