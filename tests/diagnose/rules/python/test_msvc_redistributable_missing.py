"""GD649 msvc-redistributable-missing."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import TEXT, Fact, Snapshot, TextLog
from tests.builders import machine


def messages(snapshot: Snapshot, matrix: Matrix) -> list[str]:
    """What the rule says of this machine."""
    return [finding.message for finding in diagnose(snapshot, matrix, Policy()).findings if finding.name == "msvc-redistributable-missing"]


def pasted(*lines: str) -> Snapshot:
    return machine(origin=TEXT, text_log=TextLog(lines=tuple(Fact(line, f"line {number}") for number, line in enumerate(lines, 1))))


@pytest.mark.parametrize(
    "line",
    [
        "Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.",
        "ImportError: Could not find the DLL(s) 'msvcp140.dll or msvcp140_1.dll'. TensorFlow requires that these DLLs be installed",
    ],
)
def test_the_framework_says_so(line: str, matrix: Matrix) -> None:
    assert messages(pasted("import torch", line), matrix) == [
        "The framework did not find the Microsoft Visual C++ Redistributable, which its libraries need."
    ]


def test_a_compiler_that_is_missing_is_another_fault(matrix: Matrix) -> None:
    assert messages(pasted("error: Microsoft Visual C++ 14.0 or greater is required."), matrix) == []


def test_a_live_machine_has_no_such_finding(matrix: Matrix) -> None:
    assert messages(machine(), matrix) == []
