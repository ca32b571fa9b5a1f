from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import EccPlace, RemappedRows, Sram, Stage, StageKind, StageState
from tests.builders import TIMED_OUT, address, machine, smoke
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus, xids

RULE = "ecc-hardware-error"


def test_it_passes_without_errors_and_does_not_apply_without_ecc() -> None:
    assert kinds_of(RULE, with_gpus({"ecc_uncorrected": 0})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"ecc_uncorrected": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, with_gpus({"ecc_enabled": False, "ecc_uncorrected": 0})) == [OutcomeKind.NOT_APPLICABLE]


def test_it_cannot_tell_where_nvml_did_not_answer_or_was_not_asked() -> None:
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(("count", "text"), [(1, "had 1 uncorrectable ECC error since"), (2, "had 2 uncorrectable ECC errors since")])
def test_errors_are_counted(count: int, text: str) -> None:
    (finding,) = findings_of(RULE, with_gpus({"ecc_uncorrected": count}))
    assert text in finding.message


def test_a_logged_memory_error_is_evidence() -> None:
    (counted,) = findings_of(RULE, with_gpus({"ecc_uncorrected": 2}, kernel_log=xids((94, 0), (48, 1))))
    assert (counted.severity, [row.what for row in counted.evidence][-1]) == (Severity.WARNING, "Xid 94")
    (cleared,) = findings_of(RULE, with_gpus({"ecc_uncorrected": 0}, kernel_log=xids((48, 0))))
    assert cleared.severity is Severity.NOTE


@pytest.mark.parametrize("unknown", [UNSUPPORTED, TIMED_OUT])
def test_a_logged_error_is_enough_without_counters(unknown: object) -> None:
    (uncounted,) = findings_of(RULE, with_gpus({"ecc_uncorrected": unknown}, kernel_log=xids((48, 0))))
    assert uncounted.severity is Severity.WARNING


def test_it_is_an_error_on_a_gpu_that_failed_to_compute() -> None:
    failed = smoke(1, kernels=(), trainings=(), stages=(Stage(StageKind.KERNEL, StageState.FAILED, error="ECC error", device="GPU:0"),))
    (finding,) = findings_of(RULE, with_gpus({"ecc_uncorrected": 1}, smoke=(failed,)))
    assert finding.severity is Severity.ERROR


def test_a_logged_error_is_about_its_own_gpu() -> None:
    snapshot = with_gpus({"ecc_uncorrected": 0}, {"ecc_uncorrected": 0}, kernel_log=xids((48, 1)))
    assert [finding.subject.key for finding in findings_of(RULE, snapshot)] == [address(1)]


def test_it_explains_a_pending_row_remap() -> None:
    rows = RemappedRows(correctable=0, uncorrectable=1, pending=True, failed=False)
    snapshot = with_gpus({"ecc_uncorrected": 1, "remapped_rows": rows}, {"ecc_uncorrected": 0, "remapped_rows": rows})
    folded = {finding.subject.key: bool(finding.because_of) for finding in findings_of("row-remap-pending", snapshot)}
    assert folded == {address(0): True, address(1): False}


def test_the_location_of_the_errors_is_evidence() -> None:
    places = (EccPlace("memory", uncorrected=0), EccPlace("l2", uncorrected=2), EccPlace("quantum", uncorrected=1))
    (finding,) = findings_of(RULE, with_gpus({"ecc_enabled": True, "ecc_uncorrected": 3, "ecc_places": places}))
    assert [row.value for row in finding.evidence if row.what == "location"] == ["2 in L2 cache, 1 in quantum"]


def test_sram_has_its_own_threshold() -> None:
    (finding,) = findings_of(RULE, with_gpus({"ecc_uncorrected": 0, "sram": Sram(uncorrected_total=9, threshold_exceeded=True)}))
    assert "SRAM" in finding.message
    assert finding.fixes[0].title.startswith("Replace the GPU")
