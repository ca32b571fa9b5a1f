from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive.all_reduce import AllReduceResult, all_reduce_result, result_detail
from gpudoctor.snapshot import AllReduce, StageState, Sum
from tests.diagnose.rules.multi_gpu.reductions import BROKEN_IMPORT
from tests.machines.summed import HUNG, LARGE, RIGHT, STOPPED, WRONG


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (RIGHT, AllReduceResult.RIGHT),
        (WRONG, AllReduceResult.WRONG),
        (msgspec.structs.replace(RIGHT, sums=()), AllReduceResult.WRONG),
        (msgspec.structs.replace(RIGHT, sums=(Sum(4, 3, 1.0, 1.0, "nan"), LARGE)), AllReduceResult.WRONG),
        (HUNG, AllReduceResult.HUNG),
        (STOPPED, AllReduceResult.UNKNOWN),
        (
            msgspec.structs.replace(RIGHT, stages=(msgspec.structs.replace(RIGHT.stages[-1], state=StageState.CRASHED),)),
            AllReduceResult.FAILED,
        ),
        (BROKEN_IMPORT, AllReduceResult.UNKNOWN),
        (AllReduce(("GPU:0",), p2p=True), AllReduceResult.UNKNOWN),
    ],
)
def test_results(run: AllReduce, expected: AllReduceResult) -> None:
    assert all_reduce_result(run) is expected


@pytest.mark.parametrize(("size", "words"), [(4096, "4 KiB"), ((1 << 20) - 1024, "1023 KiB"), (1 << 20, "1 MiB"), (5 << 20, "5 MiB")])
def test_wrong_sums_are_told_by_size(size: int, words: str) -> None:
    right, wrong = Sum(1 << 22, 3, 1.0, 1.0, 0), Sum(size, 3, 1.0, 1.0, 2.5, ("GPU:1", "GPU:2"))
    assert result_detail(msgspec.structs.replace(RIGHT, sums=(right, wrong))) == f"{words} on GPU:1, GPU:2: off by 2.5"
    assert result_detail(msgspec.structs.replace(RIGHT, sums=(right, right))) == "right in 2 sizes"
