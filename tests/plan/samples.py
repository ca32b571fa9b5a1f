"""Tables of a few rows for an installer's choice; the shipped ones for the rest."""

from __future__ import annotations

from typing import Any

from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.rows import CudnnRelease
from gpudoctor.matrix.table import Row, Table
from gpudoctor.plan import Combination, check_combination
from tests.matrix.samples import release, version

NOW = "2026-11-21T00:00:00Z"


def tables(*rows: FrameworkRelease, cudnn: tuple[str, ...] = ()) -> Matrix:
    """A matrix over rows of torch and its companions, and cuDNN releases for CUDA 12."""
    cudnns = tuple(CudnnRelease(version(text), 12, "linux_x86_64", "libcudnn.so.9", None, None, ("cudnn-wheels",), "") for text in cudnn)
    held: dict[str, tuple[Any, ...]] = {"torch": tuple(sorted(rows, key=lambda row: (row.distribution, row.release))), "cudnn": cudnns}

    def read(table: Table[Row], distribution: str = "", platform: str = "", release: str = "") -> tuple[Any, ...]:
        rows = (row for row in held.get(table.name, ()) if not distribution or row.distribution == distribution)
        return tuple(row for row in rows if (not platform or row.platform in {platform, "any"}) and release in {"", str(row.release)})

    return Matrix(read)


def torch(text: str, *requires: str, **fields: Any) -> FrameworkRelease:
    """A release of torch with these requirements."""
    return release(text, requires=requires, **fields)


def vision(text: str, *requires: str, **fields: Any) -> FrameworkRelease:
    """A release of torchvision with these requirements."""
    return release(text, distribution="torchvision", requires=requires, **fields)


def checked(*requirements: str, **fields: Any) -> Diagnosis:
    """The diagnosis of a combination with the shipped tables."""
    return check_combination(Combination(requirements=requirements, **fields), Policy(level=None)).diagnosis
