from __future__ import annotations

import msgspec

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Hang, Nvml, StuckProcess
from tests.builders import TIMED_OUT, machine, touched
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "driver-hung"


def test_who_is_stuck_is_evidence() -> None:
    hung = machine(1).nvml
    assert isinstance(hung, Nvml)
    nvml = msgspec.structs.replace(hung, hang=Hang("nvmlInit", 31.0, uninterruptible=False))
    (finding,) = findings_of(RULE, machine(1, nvml=nvml, stuck=(StuckProcess(7, "nvidia-smi", "rwsem_down"),)))
    assert finding.evidence[1].value == "nvidia-smi (pid 7) in rwsem_down"


def test_a_hang_of_our_kernel_is_a_hung_driver() -> None:
    hung = machine(1, contexts=touched(1, kernel_right=TIMED_OUT, hang=Hang("cuDevicePrimaryCtxRetain", 31.0, False)))
    (finding,) = findings_of(RULE, hung)
    assert finding.message == "libcuda hangs in cuDevicePrimaryCtxRetain on GPU 0 (0000:01:00.0): no response for 31 s."
    assert findings_of("cuda-init-fails", hung) == []
    slow = machine(1, contexts=touched(1, kernel_right=TIMED_OUT, hang=Hang("cuDevicePrimaryCtxRetain", 12.0, False)))
    assert findings_of(RULE, slow) == []


def test_a_library_that_was_not_asked_in_time_is_ignorance() -> None:
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
