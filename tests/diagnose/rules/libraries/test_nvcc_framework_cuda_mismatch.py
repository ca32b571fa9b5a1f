from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.diagnose.rules.examined import building, environment, only, outcome, toolkit


def test_another_toolkit_that_fits_is_named() -> None:
    snapshot = building(toolkit("11.8", "PATH"), toolkit("12.4"))
    found = only(snapshot, "nvcc-framework-cuda-mismatch")
    assert found.fixes[0].command == "export CUDA_HOME=/usr/local/cuda-12.4"
    fitting = building(toolkit("11.8", "PATH"), toolkit("12.4", "CUDA_HOME"))
    assert outcome(fitting, "nvcc-framework-cuda-mismatch") is OutcomeKind.PASSED


def test_only_pytorch_compares() -> None:
    snapshot = environment(toolkits=(toolkit("11.8", "PATH"),))
    assert outcome(snapshot, "nvcc-framework-cuda-mismatch") is OutcomeKind.NOT_APPLICABLE


def test_without_nvcc_nothing_is_built() -> None:
    runtime = toolkit("12.4", "/usr/local/cuda", nvcc=False)
    assert outcome(building(), "nvcc-framework-cuda-mismatch") is OutcomeKind.NOT_APPLICABLE
    assert outcome(building(runtime), "nvcc-framework-cuda-mismatch") is OutcomeKind.NOT_APPLICABLE
