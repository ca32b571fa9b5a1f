"""The releases of the frameworks that the smoke training is tried with, as the compatibility tables have them, and the Pythons here for them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from gpudoctor.matrix_files import open_matrix
from tests.environments import make
from tests.seams.build import SeamUnavailable

FIRST: Final = {"tensorflow": (1, 15, 0, 0), "torch": (2, 1, 0, 0), "jax": (0, 4, 30, 0)}
"""The first release of each that is tried."""
BINARY: Final = {"jax": "jaxlib"}
"""Whose wheels say for which Pythons there is a release, where its own is for any."""
DISTRIBUTION: Final = {"tensorflow": "tensorflow-cpu", "torch": "torch", "jax": "jax"}
"""What the index is asked for."""
UNDECLARED: Final = {"torch": ((2, 2, 0, 0), "packaging"), "tensorflow": ((2, 9, 0, 0), "protobuf<3.21")}
"""What releases before that one need and do not require: torch imports packaging when Adam is made (torch/torch_version.py in the wheels);
TensorFlow's generated code runs with protobuf 3 only, and no upper bound says so."""


@dataclass(frozen=True)
class Release:
    """One release to try."""

    framework: str
    release: str
    pythons: tuple[str, ...]
    """It is published for these."""
    beside: tuple[str, ...] = ("numpy",)
    """What is installed with it."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return f"{self.framework}-{self.release}"

    @property
    def wanted(self) -> tuple[str, ...]:
        """What is installed."""
        return f"{DISTRIBUTION[self.framework]}=={self.release}", *self.beside


def releases() -> list[Release]:
    """Return every release that is to be tried, oldest first: the first and the last of each minor version."""
    rows, matrix = [], open_matrix(None)
    for framework, first in FIRST.items():
        every = {
            name: matrix.releases(name, "linux_x86_64")
            for name in {DISTRIBUTION[framework], BINARY.get(framework, DISTRIBUTION[framework])}
        }
        binaries = every[BINARY.get(framework, DISTRIBUTION[framework])]
        known = [row for row in every[DISTRIBUTION[framework]] if row.release >= first]
        minors = [list(group) for _, group in groupby(known, key=lambda row: row.release[:2])]
        for one in (known[0], *(minor[-1] for minor in minors if minor[-1] is not known[0])):
            wheel = [row for row in binaries if row.release[:3] <= one.release[:3]][-1]
            before, module = UNDECLARED.get(framework, ((0,), ""))
            beside = "numpy<2" if wheel.numpy_abi == 1 else "numpy", *([module] if one.release < before else [])
            rows.append(Release(framework, str(one.release), tuple(name for name in wheel.pythons if name.startswith("3")), beside))
    return rows


def newest(framework: str) -> Release:
    """Return the last release of a framework for which there is a Python here. Raises SeamUnavailable."""
    for row in reversed([row for row in releases() if row.framework == framework]):
        with suppress(SeamUnavailable):
            newest_python(row.pythons)
            return row
    raise SeamUnavailable(f"needs a Python that {framework} is published for")


def newest_python(pythons: tuple[str, ...]) -> tuple[str, Path]:
    """Return the newest of these minor versions that is on this machine. Raises SeamUnavailable."""
    for version in sorted((one for one in pythons if not one.endswith("t")), key=lambda one: int(one.partition(".")[2]), reverse=True):
        try:
            return version, make.interpreter(version)
        except SeamUnavailable:  # noqa: PERF203 -- a handful of rounds
            continue
    raise SeamUnavailable(f"needs Python {' or '.join(pythons)}")
