from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Pci
from tests.builders import TIMED_OUT, address, card, machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus, xids
from tests.diagnose.rules.hardware.samples import alarmed, second_lost

RULE = "gpu-fell-off-bus"
LOST = 15


def test_it_passes_if_all_gpus_respond() -> None:
    assert kinds_of(RULE, machine(2)) == [OutcomeKind.PASSED] * 2


def test_a_gpu_missing_from_nvml_with_xid_79_is_found() -> None:
    (finding,) = findings_of(RULE, second_lost(kernel_log=xids((79, 1))))
    assert (finding.subject.key, finding.confidence) == (address(1), Confidence.CERTAIN)
    assert "NVML no longer lists it, and the kernel logged Xid 79" in finding.message


def test_xid_79_of_a_gpu_that_responds_is_ignored() -> None:
    assert findings_of(RULE, second_lost(kernel_log=xids((79, 0)))) == []


def test_one_lost_answer_of_nvml_is_enough() -> None:
    (finding,) = findings_of(RULE, alarmed(LOST, "GPU is lost"))
    assert finding.confidence is Confidence.LIKELY
    (sure,) = findings_of(RULE, with_gpus({}, pci=Pci((card(0, answers=False),))))
    assert sure.confidence is Confidence.CERTAIN


def test_a_kernel_that_ran_makes_it_a_warning() -> None:
    trained = alarmed(LOST, "GPU is lost")
    (finding,) = findings_of(RULE, trained)
    (survived,) = findings_of(RULE, with_gpus({"link_width": 63}, smoke=(smoke(),)))
    assert (str(finding.severity), str(survived.severity)) == ("error", "warning")


def test_it_cannot_tell_without_nvml_and_does_not_apply_to_a_gpu_nvml_never_listed() -> None:
    assert kinds_of(RULE, with_gpus({"address": TIMED_OUT})) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, second_lost())[1] is OutcomeKind.NOT_APPLICABLE
