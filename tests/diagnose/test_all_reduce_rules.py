"""What sums over all devices come to: GD804 and GD807, for each way that a run and its control can end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive.all_reduce import Result, result
from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Diagnosis, OutcomeKind, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import AllReduce, Cause, Missing, NvLink, Nvml, Snapshot, Stage, StageKind, StageState, Sum, Variables
from tests.builders import machine, smoke, tensorflow
from tests.machines.store import recorded
from tests.machines.summed import BEFORE, HUNG, LARGE, RIGHT, RIGHT_WITHOUT, STOPPED, WRONG

HUNG_WITHOUT = msgspec.structs.replace(HUNG, p2p=False)
BROKEN_IMPORT = AllReduce(("GPU:0", "GPU:1"), p2p=True, stages=(Stage(StageKind.IMPORT, StageState.FAILED, error="no such module"),))


def summed(*runs: AllReduce, base: str = "translated-transfers", **changes: Any) -> Snapshot:
    one = msgspec.structs.replace(smoke(2), all_reduces=runs)
    return msgspec.structs.replace(recorded(base), smoke=(one,), **changes)


def judged(snapshot: Snapshot, matrix: Matrix) -> tuple[dict[str, Any], dict[str, Any]]:
    """Findings and outcomes of the two rules, by code."""
    whole: Diagnosis = diagnose(snapshot, matrix, Policy())
    codes = ("GD804", "GD807")
    return (
        {one.code: one for one in whole.findings if one.code in codes},
        {one.code: one for one in whole.outcomes if one.code in codes},
    )


@pytest.mark.parametrize("first", [HUNG, WRONG], ids=["hangs", "wrong"])
def test_what_is_right_without_p2p_is_p2p(first: AllReduce, matrix: Matrix) -> None:
    found, _ = judged(summed(first, RIGHT_WITHOUT), matrix)
    assert found["GD804"].confidence is Confidence.CERTAIN
    assert found["GD807"].because_of == ("GD804",)
    assert found["GD804"].fixes[0].command == "export NCCL_P2P_DISABLE=1"


def test_without_a_translating_iommu_it_is_likely(matrix: Matrix) -> None:
    found, _ = judged(summed(WRONG, RIGHT_WITHOUT, base="untouched-transfers"), matrix)
    assert found["GD804"].confidence is Confidence.LIKELY
    assert "off by 2.984375" in found["GD807"].message


def test_where_nvlinks_are_up_it_may_be_theirs(matrix: Matrix) -> None:
    snapshot = summed(HUNG, RIGHT_WITHOUT)
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    links = (NvLink(0, active=True),)
    gpus = tuple(msgspec.structs.replace(gpu, nvlinks=links) for gpu in snapshot.nvml.gpus)
    found, _ = judged(msgspec.structs.replace(snapshot, nvml=msgspec.structs.replace(snapshot.nvml, gpus=gpus)), matrix)
    assert found["GD804"].confidence is Confidence.POSSIBLE
    assert found["GD807"].because_of == ()


def test_it_is_told_without_nvml(matrix: Matrix) -> None:
    found, _ = judged(summed(HUNG, RIGHT_WITHOUT, nvml=Missing(Cause.TIMED_OUT, "no answer")), matrix)
    assert "GD804" in found


def test_what_fails_either_way_is_not_p2p(matrix: Matrix) -> None:
    found, outcomes = judged(summed(HUNG, HUNG_WITHOUT, base="untouched-transfers"), matrix)
    assert list(found) == ["GD807"]
    assert outcomes["GD804"].kind is OutcomeKind.PASSED
    assert "With NCCL_P2P_DISABLE=1 it hung." in found["GD807"].message


@pytest.mark.parametrize(
    "controls", [(), (STOPPED,), (msgspec.structs.replace(BROKEN_IMPORT, p2p=False),)], ids=["none", "stopped", "no import"]
)
def test_a_control_that_tells_nothing_is_said(controls: tuple[AllReduce, ...], matrix: Matrix) -> None:
    found, outcomes = judged(summed(HUNG, *controls, base="untouched-transfers"), matrix)
    assert list(found) == ["GD807"]
    assert outcomes["GD804"].kind is OutcomeKind.COULD_NOT_TELL
    assert "the control without P2P tells nothing" in outcomes["GD804"].reason


def test_a_right_sum_refutes_the_prediction(matrix: Matrix) -> None:
    found, outcomes = judged(summed(RIGHT), matrix)
    assert [(one.code, one.severity.value) for one in found.values()] == [("GD804", "note")]
    assert outcomes["GD807"].kind is OutcomeKind.PASSED
    predicted, _ = judged(summed(RIGHT_WITHOUT), matrix)  # the user switched P2P off, so nothing is refuted
    assert predicted["GD804"].severity.value == "warning"


def test_a_framework_that_failed_before_the_sums_tells_nothing(matrix: Matrix) -> None:
    found, outcomes = judged(summed(BROKEN_IMPORT, base="untouched-transfers"), matrix)
    assert found == {}
    assert (outcomes["GD807"].kind, outcomes["GD807"].reason) == (OutcomeKind.COULD_NOT_TELL, "import failed: no such module")


def test_one_gpu_has_nothing_to_sum_with(matrix: Matrix) -> None:
    alone = msgspec.structs.replace(smoke(1), all_reduces=Missing(Cause.ABSENT, "one GPU has nothing to sum with"))
    _, outcomes = judged(machine(1, frameworks=(tensorflow(),), smoke=(alone,)), matrix)
    assert outcomes["GD807"].kind is OutcomeKind.NOT_APPLICABLE
    below_full, kinds = judged(machine(1, frameworks=(tensorflow(),), smoke=(smoke(1),)), matrix)
    assert (below_full, kinds["GD807"].kind) == ({}, OutcomeKind.NOT_ASKED)


def test_what_the_user_told_nccl_is_evidence(matrix: Matrix) -> None:
    told = Variables({"NCCL_SOCKET_IFNAME": "eth9", "HOME": "/root"})
    line = "node:1:1 [0] bootstrap.cc:126 NCCL WARN Bootstrap : no socket interface found"
    stages = (*BEFORE, Stage(StageKind.ALL_REDUCE, StageState.FAILED, error="ncclInvalidUsage"))
    failed = msgspec.structs.replace(HUNG, stages=stages, output=f"noise\n{line}\n")
    found, _ = judged(summed(failed, msgspec.structs.replace(failed, p2p=False), variables=told), matrix)
    evidence = {one.what: one.value for one in found["GD807"].evidence}
    assert evidence["NCCL_SOCKET_IFNAME"] == "eth9"
    assert evidence["a telling line"] == line
    assert "HOME" not in evidence
    assert "NCCL found no network interface to begin by" in found["GD807"].message


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (RIGHT, Result.RIGHT),
        (WRONG, Result.WRONG),
        (msgspec.structs.replace(RIGHT, sums=()), Result.WRONG),
        (msgspec.structs.replace(RIGHT, sums=(Sum(4, 3, 1.0, 1.0, "nan"), LARGE)), Result.WRONG),
        (HUNG, Result.HUNG),
        (STOPPED, Result.UNKNOWN),
        (BROKEN_IMPORT, Result.UNKNOWN),
        (AllReduce(("GPU:0",), p2p=True), Result.UNKNOWN),
    ],
)
def test_results(run: AllReduce, expected: Result) -> None:
    assert result(run) is expected
