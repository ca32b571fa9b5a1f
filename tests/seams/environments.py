"""Environments with real frameworks, made from the package index once and kept in the cache that test processes share."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.seams.build import SeamUnavailable, locked

FRAMEWORKS = {"torch": ("torch==2.13.0", "numpy"), "jax": ("jax",)}
"""What pip is asked for. That release of torch has a build without CUDA on some indices, which takes a gigabyte instead of five."""


def framework_python(framework: str) -> Path:
    """The interpreter of an environment that holds a framework (a key of FRAMEWORKS).

    Raises SeamUnavailable where there is none yet and this is not CI, or where the index cannot be reached.
    """
    wanted = FRAMEWORKS[framework]
    key = hashlib.sha256(f"{sys.version_info[:2]} {wanted}".encode()).hexdigest()[:12]
    with locked(f"environment-{framework}") as cache:
        folder = cache / "environments" / f"{framework}-{key}"
        if not folder.exists():
            may_download()
            _make(folder, wanted)
    return folder / "bin" / "python"


def may_download() -> None:
    """Raises SeamUnavailable where this is not CI and nobody said that the index may be asked."""
    if not any(os.environ.get(name, "").lower() not in {"", "0", "false"} for name in ("CI", "GPUDOCTOR_TEST_INDEX")):
        msg = "needs the package index: set GPUDOCTOR_TEST_INDEX=1 to download"
        raise SeamUnavailable(msg)


def _make(folder: Path, wanted: tuple[str, ...]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    commands: tuple[list[str | Path], ...] = (
        [sys.executable, "-m", "venv", folder],
        [folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            msg = f"needs the package index: {' '.join(wanted)}: {reason}"
            raise SeamUnavailable(msg)
