from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import CudaCall, Missing, Nvml, NvmlGpu, Status
from tests.builders import ABSENT, SUCCESS, TIMED_OUT, machine, touched
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "gpu-memory-insufficient"


def test_no_memory_for_a_context_says_what_is_free() -> None:
    calls = (CudaCall("cuDevicePrimaryCtxRetain", Status(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"), 3),)
    full = machine(1, contexts=touched(1, kernel_right=ABSENT, calls=calls))
    assert not isinstance(full.nvml, Missing)
    gpu = NvmlGpu(0, address="0000:01:00.0", memory_total=80 << 30, memory_free=100 << 20, compute_processes=())
    full = msgspec.structs.replace(full, nvml=msgspec.structs.replace(full.nvml, gpus=(gpu,)))
    (finding,) = findings_of(RULE, full)
    assert finding.message.endswith("returns 2 (CUDA_ERROR_OUT_OF_MEMORY), with 0.1 of 80.0 GiB free.")
    assert findings_of("cuda-init-fails", full) == []


@pytest.mark.parametrize("unknown", [{"memory_total": ABSENT}, {"memory_free": ABSENT}])
def test_free_memory_is_left_out_where_it_is_unknown(unknown: dict[str, Missing]) -> None:
    calls = (CudaCall("cuDevicePrimaryCtxRetain", Status(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"), 3),)
    known = NvmlGpu(0, address="0000:01:00.0", memory_total=80 << 30, memory_free=100 << 20)
    nvml = Nvml(init=SUCCESS, gpus=(msgspec.structs.replace(known, **unknown),))
    snapshot = machine(1, contexts=touched(1, kernel_right=ABSENT, calls=calls), nvml=nvml)
    (finding,) = findings_of(RULE, snapshot)
    assert finding.message.endswith("returns 2 (CUDA_ERROR_OUT_OF_MEMORY).")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, contexts=touched(1))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, contexts=touched(1, kernel_right=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
