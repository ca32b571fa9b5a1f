"""Environments with the newest releases of real frameworks, made from the package index once and kept in the tests' shared cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from tests.environments import make
from tests.environments.releases import Release, newest, newest_python, releases
from tests.seams.build import SeamUnavailable, locked

_PROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"


def framework_python(framework: str) -> Path:
    """The interpreter of an environment with the newest release of torch, which takes 5 GB, or jax.

    Raises SeamUnavailable if there is none yet outside CI, if no suitable Python is installed, or if the index is unreachable.
    """
    return _python_with(newest(framework), framework)


def transformers() -> Path:
    """A folder with transformers, for the PYTHONPATH of framework_python("torch"). Raises SeamUnavailable like it."""
    python = framework_python("torch")
    return _beside(python, f"transformers-{python.parent.parent.name}", "transformers")


def scikit_learn() -> Path:
    """A folder with scikit-learn, for this Python's search path. Raises SeamUnavailable like framework_python."""
    version = ".".join(map(str, sys.version_info[:2]))
    return _beside(Path(sys.executable), f"scikit-learn-{version}", "--group", f"{_PROJECT}:words")


def _beside(python: Path, name: str, *wanted: str) -> Path:
    with locked(f"environment-{name}") as cache:
        folder = cache / "environments" / name
        if not (folder / make.DONE).exists():
            may_download()
            make.beside(python, folder, wanted)
            (folder / make.DONE).touch()
    return folder


def tensorflow_1_python() -> Path:
    """The interpreter of an environment with TensorFlow 1.15. Raises SeamUnavailable like framework_python."""
    return _python_with(next(release for release in releases() if release.name.startswith("tensorflow-1.15")), "tensorflow-1")


def _python_with(release: Release, lock: str) -> Path:
    version, python = newest_python(release.pythons)
    with locked(f"environment-{lock}") as cache:
        folder = cache / "environments" / f"{release.name}-{version}"
        if not (folder / make.DONE).exists():
            may_download()
            make.fresh(python, folder, release.wanted, lasting=True)
            (folder / make.DONE).touch()
    return folder / "bin" / "python"


def may_download() -> None:
    """Raises SeamUnavailable outside CI unless the index may be used."""
    if not any(os.environ.get(name, "").lower() not in {"", "0", "false"} for name in ("CI", "GPUDOCTOR_TEST_INDEX")):
        msg = "needs the package index: set GPUDOCTOR_TEST_INDEX=1 to download"
        raise SeamUnavailable(msg)
