"""GD244 nvml-fails."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Missing, Nvml, Snapshot, Status
from tests.builders import libcuda, machine

LOST = Missing(Cause.LOST, "nvmlDeviceGetCount answered 15 (GPU is lost)")


def messages(snapshot: Snapshot, matrix: Matrix) -> list[str]:
    """What the rule says of this machine."""
    return [finding.message for finding in diagnose(snapshot, matrix, Policy()).findings if finding.name == "nvml-fails"]


def started(code: int, name: str) -> Snapshot:
    """A machine with two GPUs whose nvmlInit returns this."""
    whole = machine(2)
    assert isinstance(whole.nvml, Nvml)
    nvml = msgspec.structs.replace(whole.nvml, init=Status(code, name, name), gpus=Missing(Cause.FAILED, f"nvmlInit answered {code}"))
    return msgspec.structs.replace(whole, nvml=nvml)


def test_nvml_does_not_start(matrix: Matrix) -> None:
    (found,) = messages(started(999, "NVML_ERROR_UNKNOWN"), matrix)
    assert "nvmlInit returns 999 (NVML_ERROR_UNKNOWN)" in found


def test_nvml_lists_no_gpu(matrix: Matrix) -> None:
    whole = machine(2)
    assert isinstance(whole.nvml, Nvml)
    (found,) = messages(msgspec.structs.replace(whole, nvml=msgspec.structs.replace(whole.nvml, gpus=LOST)), matrix)
    assert "GPU is lost" in found


@pytest.mark.parametrize("code", [4, 8, 16, 18])
def test_errors_with_rules_of_their_own_are_left_to_them(matrix: Matrix, code: int) -> None:
    assert messages(started(code, "NVML_ERROR"), matrix) == []


def test_a_machine_without_cuda_has_another_cause(matrix: Matrix) -> None:
    whole = msgspec.structs.replace(started(999, "NVML_ERROR_UNKNOWN"), libcuda=libcuda(2, 999, "CUDA_ERROR_UNKNOWN"))
    assert messages(whole, matrix) == []


def test_a_machine_in_order_has_no_such_finding(matrix: Matrix) -> None:
    assert messages(machine(), matrix) == []
