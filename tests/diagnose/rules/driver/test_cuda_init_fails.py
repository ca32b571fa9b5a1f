from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Level, OutcomeKind, Policy, Severity
from gpudoctor.snapshot import CudaCall, Status
from tests.builders import ABSENT, TIMED_OUT, bare, machine, touched
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded, on_disk

RULE = "cuda-init-fails"


def test_a_refused_kernel_stays_an_error_though_cuda_initialises() -> None:
    calls = (CudaCall("cuModuleLoadData", Status(221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", ""), 1),)
    refused = machine(2, contexts=touched(2, kernel_right=ABSENT, calls=calls), cuda_files=on_disk())
    (finding,) = findings_of(RULE, refused)
    assert finding.severity is Severity.ERROR
    assert [(seen.what, seen.value) for seen in finding.evidence][1] == ("libnvidia-ptxjitcompiler.so.1", "not found")


@pytest.mark.parametrize(
    ("code", "path", "name"),
    [
        (34, "/usr/local/cuda/lib64/stubs/libcuda.so", "libcuda-is-stub"),
        (34, "", "libcuda-is-stub"),
        (999, "/usr/local/cuda/lib64/stubs/libcuda.so", "libcuda-is-stub"),
        (804, "/usr/local/cuda/compat/libcuda.so.570.26", "forward-compat-unsupported-hw"),
        (804, "", "forward-compat-unsupported-hw"),
        (803, "/usr/local/cuda/compat/libcuda.so.570.26", "cuda-compat-lib-conflict"),
        (803, "/usr/lib/libcuda.so.535.54.03", "driver-library-mismatch"),
        (808, "/usr/lib/libcuda.so.550.163.01", "mps-misconfigured"),
    ],
)
def test_the_file_makes_the_code_precise(code: int, path: str, name: str) -> None:
    snapshot = machine(1, libcuda=loaded(code, path), mps=ABSENT)
    diagnosis = diagnose(snapshot, MATRIX, Policy(level=Level.LOOK))
    assert [finding.name for finding in diagnosis.root_causes if finding.severity is Severity.ERROR] == [name]


@pytest.mark.parametrize(("code", "path"), [(803, "/usr/lib/libcuda.so.550.163.01"), (803, ""), (100, "/x/compat/libcuda.so.1"), (999, "")])
def test_without_a_second_observation_the_code_stays_bare(code: int, path: str) -> None:
    diagnosis = diagnose(machine(1, libcuda=loaded(code, path)), MATRIX, Policy(level=Level.LOOK))
    assert [finding.name for finding in diagnosis.root_causes] == [RULE]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, bare()) == [OutcomeKind.NOT_APPLICABLE]
