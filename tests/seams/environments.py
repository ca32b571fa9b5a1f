"""Environments with the newest releases of real frameworks, made from the package index once and kept in the cache that test processes share."""

from __future__ import annotations

import os
from pathlib import Path

from tests.environments import make
from tests.environments.releases import Release, newest, newest_python, releases
from tests.seams.build import SeamUnavailable, locked


def framework_python(framework: str) -> Path:
    """The interpreter of an environment that holds the newest release of torch, which takes 5 GB, or jax.

    Raises SeamUnavailable where there is none yet and this is not CI, where no Python for it is here, or where the index cannot be reached.
    """
    return _python_with(newest(framework), framework)


def tensorflow_1_python() -> Path:
    """The interpreter of an environment that holds TensorFlow 1.15. Raises SeamUnavailable as framework_python does."""
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
    """Raises SeamUnavailable where this is not CI and nobody said that the index may be asked."""
    if not any(os.environ.get(name, "").lower() not in {"", "0", "false"} for name in ("CI", "GPUDOCTOR_TEST_INDEX")):
        msg = "needs the package index: set GPUDOCTOR_TEST_INDEX=1 to download"
        raise SeamUnavailable(msg)
