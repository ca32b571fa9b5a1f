"""Branches of the rules about what a generation of GPUs lacks that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Finding, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Fact, Nvml, NvmlGpu, Snapshot, Stage, StageKind, StageState
from tests.builders import SUCCESS, TIMED_OUT, address, machine, smoke, torch
from tests.machines.trained import TOO_OLD_FOR_TRITON

TRITON = "gpu-too-old-for-triton"
REFUSED = Stage(StageKind.COMPILED_STEP, StageState.FAILED, device="GPU:0", error=TOO_OLD_FOR_TRITON)


def cards(*capabilities: Any, **changes: Any) -> Snapshot:
    """GPUs of one name for each capability."""
    gpus = (
        NvmlGpu(number, address=address(number), minor=number, name=f"GPU of {one}", compute_capability=one)
        for number, one in enumerate(capabilities)
    )
    nvml = Nvml(init=SUCCESS, driver_version="550.163.01", gpus=tuple(gpus))
    return machine(len(capabilities), nvml=nvml, **changes)


def found(name: str, snapshot: Snapshot, matrix: Matrix, *require: str) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None, require=require)).findings if one.name == name]


def outcome(name: str, snapshot: Snapshot, matrix: Matrix) -> OutcomeKind:
    (kind,) = (one.kind for one in diagnose(snapshot, matrix, Policy(level=None)).outcomes if one.name == name)
    return kind


@pytest.mark.parametrize("name", [TRITON])
def test_an_unknown_generation_is_no_pass(name: str, matrix: Matrix) -> None:
    kept = cards(TIMED_OUT, frameworks=(torch(),))
    assert outcome(name, kept, matrix) is OutcomeKind.COULD_NOT_TELL
    assert len(found(name, cards("6.1", TIMED_OUT, frameworks=(torch(version=Fact("2.4.0+cu121", "x")),)), matrix)) == 1


@pytest.mark.parametrize(
    ("release", "capability", "times"), [("2.4.0+cu121", "6.1", 1), ("2.4.0+cu121", "7.0", 0), ("1.13.1+cu117", "6.1", 0)]
)
def test_torch_compile_is_for_volta_and_newer(release: str, capability: str, times: int, matrix: Matrix) -> None:
    assert len(found(TRITON, cards(capability, frameworks=(torch(version=Fact(release, "x")),)), matrix)) == times


def test_without_code_for_the_gpu_the_compiler_is_not_the_matter(matrix: Matrix) -> None:
    assert not found(TRITON, cards("6.1", frameworks=(torch(version=Fact("2.8.0+cu128", "x"), built_with_cuda=Fact("12.8", "x")),)), matrix)


@pytest.mark.parametrize(
    ("stages", "severity", "folded"),
    [
        ((REFUSED,), Severity.WARNING, 1),
        ((), Severity.NOTE, 0),
        ((REFUSED, Stage(StageKind.COPIES, StageState.FAILED, device="GPU:1", error="something else")), Severity.NOTE, 0),
    ],
)
def test_it_explains_a_compiled_step_that_failed_so_and_nothing_else(
    stages: tuple[Stage, ...], severity: Severity, folded: int, matrix: Matrix
) -> None:
    snapshot = cards("6.1", frameworks=(torch(version=Fact("2.4.0+cu121", "x")),), smoke=(smoke(1, framework="torch", stages=stages),))
    (finding,) = found(TRITON, snapshot, matrix)
    assert finding.severity is severity
    assert sum(bool(one.because_of) for one in found("smoke-crashed", snapshot, matrix)) == folded
