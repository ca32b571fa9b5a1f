from __future__ import annotations

import pytest

from gpudoctor.findings import Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot
from tests.diagnose.rules.planned import SASS, TORCH, A, judge, only, outcome, stated, supposed, torch_row
from tests.matrix.samples import matrix


@pytest.mark.parametrize(
    ("capability", "name", "release"),
    [("12.0", "gpu-too-new-for-build", "2.8.0"), ("6.1", "gpu-too-old-for-build", "2.5.1")],
)
def test_the_fix_is_the_newest_release_with_code_for_the_gpu(capability: str, name: str, release: str) -> None:
    found = only(judge(supposed(A, gpus=(capability,)), TORCH), name)
    assert found.severity is Severity.ERROR
    assert found.fixes[0].command == f"python3.11 -m pip install torch=={release}"
    assert f"compute capability {capability}" in found.message
    assert "sm_70 sm_80 sm_90, no PTX" in found.message


def test_a_release_without_a_wheel_for_this_python_is_no_fix() -> None:
    lines = torch_row("2.6.0", SASS) + torch_row("2.8.0", "sm_120", pythons="3.12")
    found = only(judge(supposed(A, gpus=("12.0",)), matrix(torch=lines)), "gpu-too-new-for-build")
    assert found.fixes[0].command == 'python3.12 -m venv "$HOME"/training && "$HOME"/training/bin/python -m pip install torch==2.8.0'


def test_a_release_that_the_driver_does_not_serve_is_no_fix() -> None:
    lines = torch_row("2.6.0", SASS) + torch_row("2.8.0", "sm_120", cuda="13.0")
    floors = "12.4,550.54.14,,525.60.13,,,,,,,guide\n13.0,580.65.06,,580,,,,,,,guide"
    snapshot = supposed(A, gpus=("12.0",), driver="570.124.06")
    found = only(judge(snapshot, matrix(torch=lines, cuda=floors)), "gpu-too-new-for-build")
    assert "2.8.0" not in found.fixes[0].command


def test_a_build_that_nobody_has_read_is_not_offered() -> None:
    lines = torch_row("2.6.0", SASS, builds="cpu cu118 cu124 cu128") + torch_row("2.8.0", "sm_120")
    cuda = "12.4,550.54.14,,525.60.13,,sm_90,,,,,guide\n12.8,570.26,,525.60.13,,sm_120,,,,,guide"
    found = only(judge(supposed(A, gpus=("12.0",)), matrix(torch=lines, cuda=cuda)), "gpu-too-new-for-build")
    assert [fix.command for fix in found.fixes] == ["python3.11 -m pip install torch==2.8.0"]


def test_a_gpu_that_remains_makes_it_a_warning() -> None:
    assert only(judge(supposed(A, gpus=("12.0", "8.0")), TORCH), "gpu-too-new-for-build").severity is Severity.WARNING
    assert only(judge(supposed(A, gpus=("12.0", "")), TORCH), "gpu-too-new-for-build").severity is Severity.WARNING
    both = judge(supposed(A, gpus=("12.0", "6.1")), TORCH)
    assert only(both, "gpu-too-new-for-build").severity is Severity.ERROR
    assert only(both, "gpu-too-old-for-build").severity is Severity.ERROR


@pytest.mark.parametrize(
    ("snapshot", "tables"),
    [(supposed(A, gpus=("",)), TORCH), (supposed(stated("torch", "9.9.9")), TORCH), (supposed(A), matrix(torch=torch_row("2.6.0", "")))],
    ids=["capability not stated", "release not known", "code not known"],
)
def test_ignorance_is_neither_fault_nor_pass(snapshot: Snapshot, tables: Matrix) -> None:
    found = judge(snapshot, tables)
    assert not [finding for finding in found.findings if finding.code in {"GD505", "GD506", "GD507"}]
    assert {outcome(found, code) for code in ("GD505", "GD506", "GD507")} == {"not-asked"}
