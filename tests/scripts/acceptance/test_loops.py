"""The plain training loops that the acceptance compares the smoke training's speed with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripts.programs import SCRIPTS


def speed_of(python: str | Path, framework: str) -> float:
    command = [python, SCRIPTS / "acceptance" / f"loop_{framework}.py", "cpu", "64"]
    return float(subprocess.run(command, capture_output=True, timeout=120, check=True).stdout)


def test_the_plain_loop_in_tensorflow_trains() -> None:
    assert speed_of(sys.executable, "tensorflow") > 0


@pytest.mark.index
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_other_plain_loops_train(framework: str, framework_python: Callable[[str], Path]) -> None:
    assert speed_of(framework_python(framework), framework) > 0
