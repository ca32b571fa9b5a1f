from __future__ import annotations

import msgspec

from gpudoctor.findings import OutcomeKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Missing, Stage, StageKind, StageState, Variables
from tests.builders import machine, smoke, tensorflow
from tests.diagnose.rules.multi_gpu.reductions import BROKEN_IMPORT, checked, summed
from tests.machines.summed import BEFORE, HUNG


def test_a_framework_that_failed_before_the_all_reduce_is_not_reported(matrix: Matrix) -> None:
    found, outcomes = checked(summed(BROKEN_IMPORT, base="untouched-transfers"), matrix)
    assert found == {}
    assert (outcomes["GD807"].kind, outcomes["GD807"].reason) == (OutcomeKind.COULD_NOT_TELL, "import failed: no such module")


def test_one_gpu_needs_no_all_reduce(matrix: Matrix) -> None:
    alone = msgspec.structs.replace(smoke(1), all_reduces=Missing(Cause.ABSENT, "all-reduce needs two GPUs"))
    _, outcomes = checked(machine(1, frameworks=(tensorflow(),), smoke=(alone,)), matrix)
    assert outcomes["GD807"].kind is OutcomeKind.NOT_APPLICABLE
    below_full, kinds = checked(machine(1, frameworks=(tensorflow(),), smoke=(smoke(1),)), matrix)
    assert (below_full, kinds["GD807"].kind) == ({}, OutcomeKind.NOT_ASKED)


def test_nccl_variables_are_evidence(matrix: Matrix) -> None:
    told = Variables({"NCCL_SOCKET_IFNAME": "eth9", "HOME": "/root"})
    line = "node:1:1 [0] bootstrap.cc:126 NCCL WARN Bootstrap : no socket interface found"
    stages = (*BEFORE, Stage(StageKind.ALL_REDUCE, StageState.FAILED, error="ncclInvalidUsage"))
    failed = msgspec.structs.replace(HUNG, stages=stages, output=f"noise\n{line}\n")
    found, _ = checked(summed(failed, msgspec.structs.replace(failed, p2p=False), variables=told), matrix)
    evidence = {one.what: one.value for one in found["GD807"].evidence}
    assert evidence["NCCL_SOCKET_IFNAME"] == "eth9"
    assert evidence["relevant log line"] == line
    assert "HOME" not in evidence
    assert "NCCL_SOCKET_IFNAME names the right one" in found["GD807"].message
