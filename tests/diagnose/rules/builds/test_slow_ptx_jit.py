from __future__ import annotations

from gpudoctor.findings import Severity
from tests.diagnose.rules.planned import CUDAS, PTX, SERVING, TF, judge, only, outcome, supposed
from tests.matrix.samples import matrix


def test_only_ptx_is_slow_where_the_driver_compiles_it() -> None:
    found = judge(supposed(TF, gpus=("9.0",), driver="535.104.05"), matrix(tensorflow=PTX, cuda=CUDAS, drivers=SERVING))
    assert only(found, "slow-ptx-jit").severity is Severity.WARNING
    assert outcome(found, "GD203") == "passed"


def test_only_ptx_is_nothing_where_the_driver_is_older_than_it() -> None:
    found = judge(supposed(TF, gpus=("9.0",), driver="525.85.12"), matrix(tensorflow=PTX, cuda=CUDAS, drivers=SERVING))
    assert "CUDA 12.2 (535.54.03 or newer)" in only(found, "driver-too-old").message
    assert [cause.name for cause in found.root_causes] == ["driver-too-old"]


def test_the_same_driver_will_do_for_a_gpu_with_machine_code() -> None:
    found = judge(supposed(TF, gpus=("8.6",), driver="525.85.12"), matrix(tensorflow=PTX, cuda=CUDAS, drivers=SERVING))
    assert not found.findings
