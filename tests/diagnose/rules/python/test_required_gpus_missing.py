from __future__ import annotations

import msgspec

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Libcuda
from tests.builders import bare, machine
from tests.diagnose.rules.python.required import about, names


def test_no_driver_and_no_gpu_are_lacking_not_unknown(matrix: Matrix) -> None:
    for wanted in ("driver>=550", "gpus>=1", "memory>=1GB", "cc>=5.0", "bf16"):
        diagnosis = about(bare(), matrix, wanted)
        assert names(diagnosis) == ["no-gpu", "required-gpus-missing"]
        assert diagnosis.findings[1].because_of == ("GD101",)


def test_a_lost_gpu_is_lacking(matrix: Matrix) -> None:
    whole = machine(2)
    assert isinstance(whole.libcuda, Libcuda)
    assert isinstance(whole.libcuda.devices, tuple)
    one = msgspec.structs.replace(whole.libcuda, devices=whole.libcuda.devices[:1])
    diagnosis = about(msgspec.structs.replace(whole, libcuda=one), matrix, "gpus==2", level=None)
    assert "required-gpus-missing" in names(diagnosis)
    assert "CUDA initialised on 1 of 2 GPUs" in next(one.message for one in diagnosis.findings if one.code == "GD603")
