from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "gpu-missing-from-cuda"


def test_cuda_leaves_one_out() -> None:
    (finding,) = findings_of(RULE, machine(2, libcuda=libcuda(1)))
    assert finding.message.endswith("is visible to NVML but not to CUDA, which lists 1 of 2 GPUs.")
    assert [fix.command for fix in finding.fixes][-1] == "sudo reboot"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=libcuda(0, 999, "CUDA_ERROR_UNKNOWN"))) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
