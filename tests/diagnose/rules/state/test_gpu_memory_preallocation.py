"""GD743 gpu-memory-preallocation."""

from __future__ import annotations

import pytest

from gpudoctor.findings import Severity
from gpudoctor.matrix import Matrix
from gpudoctor.read.texts import read_text
from tests.builders import machine
from tests.diagnose.rules.asking import findings_of

RULE = "gpu-memory-preallocation"
ROW = "|   0  NVIDIA RTX A5000                On |   00000000:65:00.0 Off |                  Off |\n| 30%   41C    P2    60W / 230W |  {used}MiB / 24564MiB |      0%      Default |\n"


def severities(text: str, matrix: Matrix) -> list[Severity]:
    """The severity of each such finding of a text."""
    return [finding.severity for finding in findings_of(RULE, read_text(text.encode(), "issue", matrix, "2026-11-22T00:00:00Z"))]


@pytest.mark.parametrize("framework", ["tensorflow==2.16.1", "jax==0.4.35"])
def test_a_full_gpu_is_worth_a_note(framework: str, matrix: Matrix) -> None:
    assert severities(f"{framework}\n{ROW.format(used=23411)}", matrix) == [Severity.NOTE]


def test_a_library_without_memory_makes_it_a_warning(matrix: Matrix) -> None:
    text = f"tensorflow==2.4.1\n{ROW.format(used=24011)}Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
    assert severities(text, matrix) == [Severity.WARNING]


@pytest.mark.parametrize(
    ("framework", "used"), [("tensorflow==2.16.1", 402), ("torch==2.4.1", 24011), ("torch==2.4.1\ntensorflow==2.16.1", 24011)]
)
def test_free_memory_and_a_framework_that_takes_what_it_needs_are_in_order(framework: str, used: int, matrix: Matrix) -> None:
    assert severities(f"{framework}\n{ROW.format(used=used)}", matrix) == []


def test_a_live_machine_has_no_such_finding() -> None:
    assert findings_of(RULE, machine()) == []


@pytest.mark.parametrize(("used", "found"), [(17194, False), (17195, True)])
def test_a_gpu_is_full_from_seven_tenths_on(used: int, found: bool, matrix: Matrix) -> None:
    """JAX takes three quarters."""
    assert bool(severities(f"jax==0.4.35\n{ROW.format(used=used)}", matrix)) is found
