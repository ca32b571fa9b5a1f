from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive.all_reduce import Result, result
from gpudoctor.snapshot import AllReduce, Sum
from tests.diagnose.rules.multi_gpu.reductions import BROKEN_IMPORT
from tests.machines.summed import HUNG, LARGE, RIGHT, STOPPED, WRONG


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
