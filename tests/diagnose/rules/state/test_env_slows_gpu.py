"""GD741 env-slows-gpu."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Finding, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot, Variables
from tests.builders import machine


def findings(snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    return [finding for finding in diagnose(snapshot, matrix, Policy()).findings if finding.name == "env-slows-gpu"]


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1", Severity.WARNING),
        ("CUDA_CACHE_DISABLE", "1", Severity.NOTE),
        ("NVIDIA_TF32_OVERRIDE", "0", Severity.NOTE),
    ],
)
def test_a_slow_setting_is_found_with_its_severity_and_its_fix(matrix: Matrix, name: str, value: str, severity: Severity) -> None:
    [found] = findings(machine(variables=Variables({name: value})), matrix)
    assert found.severity is severity
    assert found.message.startswith(f"{name}={value} ")
    assert found.fixes[0].command == f"unset {name}"


def test_each_variable_is_a_finding(matrix: Matrix) -> None:
    assert len(findings(machine(variables=Variables({"CUDA_LAUNCH_BLOCKING": "1", "CUDA_CACHE_DISABLE": "1"})), matrix)) == 2


@pytest.mark.parametrize("values", [{}, {"CUDA_LAUNCH_BLOCKING": "0"}, {"CUDA_LAUNCH_BLOCKING": ""}, {"NVIDIA_TF32_OVERRIDE": "1"}])
def test_the_fast_values_are_in_order(matrix: Matrix, values: dict[str, str]) -> None:
    assert findings(machine(variables=Variables(values)), matrix) == []


def test_without_a_gpu_nothing_is_slowed_down(matrix: Matrix) -> None:
    assert findings(machine(0, variables=Variables({"CUDA_LAUNCH_BLOCKING": "1"})), matrix) == []
