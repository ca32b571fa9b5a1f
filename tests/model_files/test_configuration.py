"""Configurations, against the classes of transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from uv import find_uv_bin

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "configurations"


@pytest.mark.index
def test_published_and_random_configurations_have_the_parameters_of_their_classes(
    tmp_path: Path, framework_python: Callable[[str], Path]
) -> None:
    python = framework_python("torch")
    subprocess.run([find_uv_bin(), "pip", "install", "-q", "--python", python, "--target", tmp_path, "transformers"], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, BENCH, "--python", python, "--parameters"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
