from __future__ import annotations

import msgspec
import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Variables
from tests.builders import bare, libcuda, machine
from tests.diagnose.rules.python.required import about, names


def test_no_driver_and_no_gpu_are_lacking_not_unknown(matrix: Matrix) -> None:
    for wanted in ("driver>=550", "gpus>=1", "memory>=1GB", "cc>=5.0", "bf16"):
        diagnosis = about(bare(), matrix, wanted)
        assert names(diagnosis) == ["no-gpu", "required-gpus-missing"]
        assert diagnosis.findings[1].because_of == ("GD101",)


@pytest.mark.parametrize(("there", "fix"), [(1, "List the GPUs"), (2, "Unset CUDA_VISIBLE_DEVICES")])
def test_a_lost_gpu_is_lacking_and_a_hidden_one_can_be_shown(there: int, fix: str, matrix: Matrix) -> None:
    whole = machine(2, variables=Variables({"CUDA_VISIBLE_DEVICES": "0"}))
    snapshot = msgspec.structs.replace(whole, libcuda=libcuda(1), libcuda_unmasked=libcuda(there))
    diagnosis = about(snapshot, matrix, "gpus==2", level=None)
    assert "required-gpus-missing" in names(diagnosis)
    finding = next(one for one in diagnosis.findings if one.code == "GD603")
    assert "CUDA initialised on 1 of 2 GPUs" in finding.message
    assert finding.fixes[0].title.startswith(fix)
