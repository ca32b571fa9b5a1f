"""The framework releases to test smoke training with, from the compatibility tables, and the Pythons installed for them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.environments import make
from tests.seams.build import SeamUnavailable
from tests.shipped import shared_matrix

FIRST: Final = {"tensorflow": (1, 15, 0, 0), "torch": (2, 1, 0, 0), "jax": (0, 4, 30, 0)}
"""The first release of each to test."""
BINARY: Final = {"jax": "jaxlib"}
"""The distribution whose wheels state the Pythons of a release, if its own wheel is for any."""
DISTRIBUTION: Final = {"tensorflow": "tensorflow-cpu", "torch": "torch", "jax": "jax"}
"""The packages requested from the index."""
UNDECLARED: Final = {"torch": ((2, 2, 0, 0), "packaging"), "tensorflow": ((2, 9, 0, 0), "protobuf<3.21")}
"""What older releases need but do not require: torch imports packaging when Adam is created (torch/torch_version.py in the wheels);
TensorFlow's generated code only runs with protobuf 3, and has no upper bound."""


@dataclass(frozen=True)
class Release:
    """A release to test."""

    framework: str
    release: str
    pythons: tuple[str, ...]
    """Pythons with a wheel."""
    beside: tuple[str, ...] = ("numpy",)
    """What is installed with it."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.framework}-{self.release}"

    @property
    def wanted(self) -> tuple[str, ...]:
        """The packages to install."""
        return f"{DISTRIBUTION[self.framework]}=={self.release}", *self.beside


def releases() -> list[Release]:
    """Return every release to test, oldest first: the first and the last of each minor version."""
    rows, matrix = [], shared_matrix()
    for framework, first in FIRST.items():
        every = {
            name: matrix.releases(name, "linux_x86_64")
            for name in {DISTRIBUTION[framework], BINARY.get(framework, DISTRIBUTION[framework])}
        }
        binaries = every[BINARY.get(framework, DISTRIBUTION[framework])]
        known = [row for row in every[DISTRIBUTION[framework]] if row.release >= first]
        minors = [list(group) for _, group in groupby(known, key=lambda row: row.release[:2])]
        for release in (known[0], *(minor[-1] for minor in minors if minor[-1] is not known[0])):
            wheel = [row for row in binaries if row.release[:3] <= release.release[:3]][-1]
            before, module = UNDECLARED.get(framework, ((0,), ""))
            beside = "numpy<2" if wheel.numpy_abi == 1 else "numpy", *([module] if release.release < before else [])
            rows.append(Release(framework, str(release.release), tuple(name for name in wheel.pythons if name.startswith("3")), beside))
    return rows


def newest(framework: str) -> Release:
    """Return the last release of a framework with an installed Python. Raises SeamUnavailable."""
    for row in reversed([row for row in releases() if row.framework == framework]):
        with suppress(SeamUnavailable):
            newest_python(row.pythons)
            return row
    raise SeamUnavailable(f"needs a Python that {framework} is published for")


def newest_python(pythons: tuple[str, ...]) -> tuple[str, Path]:
    """Return the newest of these minor versions on this machine. Raises SeamUnavailable."""
    for version in sorted(
        (python for python in pythons if not python.endswith("t")), key=lambda python: int(python.partition(".")[2]), reverse=True
    ):
        try:
            return version, make.interpreter(version)
        except SeamUnavailable:  # noqa: PERF203 -- a handful of rounds
            continue
    raise SeamUnavailable(f"needs Python {' or '.join(pythons)}")
