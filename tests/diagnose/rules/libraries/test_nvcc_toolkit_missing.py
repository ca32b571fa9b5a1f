from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from tests.diagnose.rules.examined import building, only, outcome, toolkit


def test_nobody_wants_to_build() -> None:
    runtime = toolkit("12.4", "/usr/local/cuda", nvcc=False)
    for snapshot in (building(), building(runtime)):
        assert outcome(snapshot, "nvcc-toolkit-missing") is OutcomeKind.PASSED


def test_a_variable_that_only_a_build_reads() -> None:
    assert only(building(TORCH_CUDA_ARCH_LIST="8.0"), "nvcc-toolkit-missing").severity is Severity.NOTE
    there = building(toolkit("12.4", "PATH"), TORCH_CUDA_ARCH_LIST="8.0")
    assert outcome(there, "nvcc-toolkit-missing") is OutcomeKind.PASSED


def test_cuda_home_that_is_wrong_outranks_the_path() -> None:
    snapshot = building(toolkit("12.4", "PATH"), CUDA_HOME="/usr/local/cuda-12.1")
    assert only(snapshot, "nvcc-toolkit-missing").fixes[0].command == "export CUDA_HOME=/usr/local/cuda-12.4"
