from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from gpudoctor.snapshot import LinkCount, NvLink
from tests.builders import TIMED_OUT, address, machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus, xids

RULE = "nvlink-errors"


def test_counters_that_rise_are_found_and_old_ones_are_not() -> None:
    rising = {"nvlinks": (NvLink(3, active=True, grown=(LinkCount("crc_errors", 7),)),)}
    (finding,) = findings_of(RULE, with_gpus(rising))
    assert "crc_errors +7 on link 3" in finding.message
    old = {"nvlinks": (NvLink(3, active=True, errors=(LinkCount("crc_errors", 7),), grown=()),)}
    assert kinds_of(RULE, with_gpus(old)) == [OutcomeKind.PASSED]


def test_symbol_errors_are_corrected_by_the_link() -> None:
    corrected = {"nvlinks": (NvLink(3, active=True, grown=(LinkCount("symbol_errors", 7),)),)}
    assert findings_of(RULE, with_gpus(corrected)) == []


def test_a_failed_recovery_counts_whenever_it_was() -> None:
    failed = {"nvlinks": (NvLink(3, active=True, errors=(LinkCount("link_recovery_failed_events", 1),), grown=()),)}
    (finding,) = findings_of(RULE, with_gpus(failed))
    assert "1 failed recovery on link 3" in finding.message


def test_a_logged_error_is_found_even_if_nvml_says_nothing() -> None:
    snapshot = machine(2, nvml=TIMED_OUT, kernel_log=xids((149, 1)))
    (finding,) = findings_of(RULE, snapshot)
    assert (finding.subject.key, finding.confidence) == (address(1), Confidence.LIKELY)


def test_a_logged_error_is_a_note_after_training() -> None:
    trained = machine(2, kernel_log=xids((74, 0)), smoke=(smoke(2),))
    assert [finding.severity for finding in findings_of(RULE, trained)] == [Severity.NOTE]
    assert not findings_of("gpu-errors-logged", trained)


def test_a_link_whose_counters_are_unknown_could_not_be_checked() -> None:
    assert kinds_of(RULE, with_gpus({"nvlinks": (NvLink(0, active=True, grown=TIMED_OUT),)})) == [OutcomeKind.COULD_NOT_TELL]
