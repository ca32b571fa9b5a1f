from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from gpudoctor.snapshot import KernelLog, Snapshot, XidEvent
from tests.builders import TIMED_OUT, in_docker, machine, smoke
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.machines.summed import RIGHT

RULE = "nvswitch-fatal-error"


def logged(code: int, text: str = "Fatal, Link 03", **changes: object) -> Snapshot:
    """A machine whose driver logged one SXid."""
    return machine(2, kernel_log=KernelLog("/dev/kmsg", (XidEvent(code, "0000:90:00.0", text, switch=True),)), **changes)


@pytest.mark.parametrize(("severity", "expected"), [("always-fatal", Severity.ERROR), ("fatal", Severity.WARNING)])
def test_nvidias_list_decides_the_severity(severity: str, expected: Severity) -> None:
    code = next(code for code in range(10_000, 30_000) if (row := MATRIX.sxid(code)) and row.severity == severity)
    (finding,) = findings_of(RULE, logged(code))
    assert (finding.severity, finding.confidence) == (expected, Confidence.CERTAIN)


def test_an_unlisted_code_takes_its_severity_from_the_log_line() -> None:
    assert MATRIX.sxid(99_999) is None
    (finding,) = findings_of(RULE, logged(99_999))
    assert finding.confidence is Confidence.LIKELY
    assert findings_of(RULE, logged(99_999, "Non-fatal, Link 03")) == []


@pytest.mark.parametrize("code", [11012, 12028])
def test_an_error_that_is_not_fatal_passes(code: int) -> None:
    assert kinds_of(RULE, logged(code, "Non-fatal, Link 04")) == [OutcomeKind.PASSED]


def test_an_all_reduce_since_makes_it_a_note() -> None:
    worked = msgspec.structs.replace(smoke(2), all_reduces=(RIGHT,))
    (finding,) = findings_of(RULE, logged(99_999, smoke=(worked,)))
    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("All-reduce has worked since.")


def test_the_first_four_lines_are_shown_in_their_first_240_characters() -> None:
    events = tuple(XidEvent(99_999, f"0000:9{number}:00.0", f"Fatal, Link 0{number}" + "." * 300, switch=True) for number in range(5))
    (finding,) = findings_of(RULE, machine(2, kernel_log=KernelLog("/dev/kmsg", events)))
    assert [fact.value for fact in finding.evidence] == [f"Fatal, Link 0{number}" + "." * 226 for number in range(4)]


def test_a_container_asks_its_host() -> None:
    (finding,) = findings_of(RULE, logged(99_999, container=in_docker()))
    assert [fix.command for fix in finding.fixes] == [""]


def test_a_log_that_could_not_be_read_is_no_pass() -> None:
    assert kinds_of(RULE, machine(2, kernel_log=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
