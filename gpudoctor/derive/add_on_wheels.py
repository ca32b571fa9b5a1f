"""The published wheels of add-ons, and the CUDA versions that each has a library for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.frameworks import ADDONS, framework_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.snapshot import Distribution
from gpudoctor.versions import Version

NEAREST_CUDA = "nearest-cuda"


class AddOnWheel(msgspec.Struct, frozen=True):
    """An assumed distribution, and the table's row of its wheel with CUDA."""

    distribution: Distribution
    row: FrameworkRelease


def add_on_wheels(framework: str, stack: Stack) -> Iterator[AddOnWheel]:
    """The distributions whose published wheels compute on the GPU for a framework."""
    for distribution in stack.distributions.values():
        row = stack.row(distribution)
        if row is not None and row.accelerator == "cuda" and extended_framework(row) == framework and distribution.name != framework:
            yield AddOnWheel(distribution, row)


def extended_framework(row: FrameworkRelease) -> str | None:
    """The framework that a release computes for: by the catalogue, or the one that it requires; None if it needs none, or is one itself."""
    if framework_of(row.distribution):
        return None  # TensorFlow 2.12 requires JAX, and computes for itself
    named = (found.name for found in parse_requirements(row.requires) if not found.marker)
    return ADDONS.get(row.distribution, ("",))[0] or next((name for found in named if (name := framework_of(found))), None)


def cuda_versions(row: FrameworkRelease) -> tuple[Version, ...]:
    """The CUDA versions that a wheel has a library for, oldest first; () if that is unknown."""
    tags = (tag.removeprefix("cu") for tag in row.builds if tag.startswith("cu"))
    several = (versions.parse_version(f"{digits[:-1]}.{digits[-1]}") for digits in tags)
    return tuple(filter(None, several)) or tuple(filter(None, (row.built_with_cuda,)))


def cuda_of_loaded_library(row: FrameworkRelease, cuda: Version, matrix: Matrix) -> Version | None:
    """The CUDA version of the library that an add-on loads with a framework for `cuda`; None if it has none.

    A wheel with one library works with every CUDA of the same major version. One with several loads that of exactly this version, or since a
    release that the matrix names the nearest below it, otherwise the next above it.
    """
    same = [version for version in cuda_versions(row) if version.major == cuda.major]
    since = matrix.bound(row.distribution, NEAREST_CUDA)
    if row.builds and (since is None or row.release < since):
        return next((version for version in same if version[:2] == cuda[:2]), None)
    below = [version for version in same if version[:2] <= cuda[:2]]
    return next(iter([*reversed(below), *same]), None)
