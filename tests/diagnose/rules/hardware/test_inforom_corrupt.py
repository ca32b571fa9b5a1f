from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.hardware.samples import alarmed, refusing

RULE, CODE = "inforom-corrupt", 14


def test_a_gpu_that_nvml_opened_is_a_warning() -> None:
    (finding,) = findings_of(RULE, alarmed(CODE, "NVML_ERROR_CORRUPTED_INFOROM"))
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.CERTAIN)


def test_nvml_that_did_not_start_is_an_error_about_any_gpu() -> None:
    (alone,) = findings_of(RULE, refusing(CODE, "NVML_ERROR_CORRUPTED_INFOROM"))
    assert (alone.severity, alone.confidence) == (Severity.ERROR, Confidence.CERTAIN)
    both = findings_of(RULE, refusing(CODE, "NVML_ERROR_CORRUPTED_INFOROM", gpus=2))
    assert [finding.confidence for finding in both] == [Confidence.POSSIBLE] * 2


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"alarms": ()})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
