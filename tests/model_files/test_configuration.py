"""Configurations, against the classes of transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "configurations"


@pytest.mark.index
def test_published_and_random_configurations_have_the_parameters_of_their_classes(
    framework_python: Callable[[str], Path], transformers: Path
) -> None:
    command = [sys.executable, str(BENCH), "--python", str(framework_python("torch")), "--parameters", "--varied", "10"]
    environment = {**os.environ, "PYTHONPATH": str(transformers)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
