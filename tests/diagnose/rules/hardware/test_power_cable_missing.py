from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from tests.builders import TIMED_OUT, address, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus, xids
from tests.diagnose.rules.hardware.samples import refusing, second_lost

RULE = "power-cable-missing"


def test_nvml_that_does_not_start_without_power_is_found() -> None:
    alone = findings_of(RULE, refusing(8, "NVML_ERROR_INSUFFICIENT_POWER"))
    assert [finding.confidence for finding in alone] == [Confidence.CERTAIN]
    both = findings_of(RULE, refusing(8, "NVML_ERROR_INSUFFICIENT_POWER", gpus=2))
    assert [finding.confidence for finding in both] == [Confidence.POSSIBLE] * 2


def test_a_missing_cable_that_only_the_kernel_logged_is_found() -> None:
    snapshot = second_lost(kernel_log=xids((54, 1)))
    (finding,) = findings_of(RULE, snapshot)
    assert (finding.subject.key, finding.severity) == (address(1), Severity.ERROR)
    (mismatch,) = findings_of("gpu-count-mismatch", snapshot)
    assert mismatch.because_of == (finding.id,)


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"alarms": ()})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
