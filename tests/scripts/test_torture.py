"""scripts/torture: what counts as wrongly ready, and some cells for real."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts.torture_parts import driver_calls
from tests.scripts.programs import SCRIPTS


@pytest.mark.parametrize(
    ("function", "fault", "verdict", "holds"),
    [
        ("nvmlDeviceGetComputeMode", "return 999", "ready", False),
        ("nvmlDeviceGetComputeMode", "return 999", "unknown", True),
        ("nvmlDeviceGetComputeMode", "return 3", "ready", True),
        ("nvmlDeviceGetTemperature", "return 999", "ready", True),
        ("nvmlDeviceGetTemperature", "return 15", "ready", False),
        ("nvmlDeviceGetTemperature", "crash", "ready", False),
        ("nvmlDeviceGetP2PStatus", "crash", "ready", True),
        ("cuInit", "return 999", "ready", False),
        ("cuDeviceGetName", "return 15", "ready", True),
        ("cuInit", "sleep 300", "ready", True),
        ("cuInit", "hang", "broken", True),
    ],
)
def test_when_ready_is_wrong(function: str, fault: str, verdict: str, holds: bool) -> None:
    assert bool(driver_calls.wrongly_ready(function, fault, verdict)) is not holds


def test_every_code_of_both_headers_is_tried() -> None:
    assert {3, 9, 15, 18, 999} <= set(driver_calls.codes("nvmlInit"))
    assert {3, 100, 802, 803, 804, 999} <= set(driver_calls.codes("cuInit"))
    assert {"return 15", "crash", "leave", "hang", "sleep 300"} <= set(driver_calls.faults("nvmlInit", short=False))


def test_some_cells_hold(fake_nvml: object) -> None:  # noqa: ARG001 -- skips without a compiler
    command = (sys.executable, SCRIPTS / "torture", "--short", "--part", "driver-calls", "nvmlInit", "cuInit", "nvmlDeviceGetTemperature")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 of 10 cells hold, 0 wrongly ready" in done.stdout
