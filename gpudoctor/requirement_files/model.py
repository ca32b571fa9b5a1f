"""What files of requirements ask for, each with the line that says so."""

from __future__ import annotations

import msgspec
from packaging.requirements import Requirement


class FileLine(msgspec.Struct, frozen=True):
    """A line of a file."""

    file: str
    line: int
    """From 1; 0 if the whole file says it."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class StatedRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement or constraint."""

    requirement: Requirement
    """conda's specifications are spelt as PEP 508."""
    places: tuple[FileLine, ...]
    """Every line that says the same."""
    conda: bool = False
    """Whether conda installs it, from its own builds, and not pip from a wheel."""
    build: str = ""
    """conda's build string, possibly with stars: cuda12*."""
    index: str = ""
    """The index that this package comes from; empty for the indexes of the files."""
    index_only: bool = True
    """Whether it comes from no other index."""
    required_by: str = ""
    """The framework that requires it, by a lock file."""
    without_gpu_code: bool = False
    """Whether a lock file lists its wheels, and they show that they hold no GPU code."""


class PackageIndex(msgspec.Struct, frozen=True):
    """An index or a folder of wheels."""

    url: str
    place: FileLine
    only: bool = False
    """Whether it replaces PyPI (--index-url) instead of adding to it."""


class StatedPython(msgspec.Struct, frozen=True):
    """What a file says of the interpreter."""

    specifier: str
    """PEP 440: ==3.11.* or >=3.10,<3.13."""
    place: FileLine


class BaseImage(msgspec.Struct, frozen=True, kw_only=True):
    """The image that a Dockerfile begins with. A fact that its name does not tell is empty."""

    name: str
    place: FileLine
    cuda: str = ""
    """The CUDA toolkit's version."""
    cudnn: str = ""
    """The major version of cuDNN where the name tells it."""
    framework_cuda: str = ""
    """The framework whose own CUDA and cuDNN the image holds: tensorflow for tensorflow/tensorflow:2.15.0-gpu."""


class NotRead(msgspec.Struct, frozen=True):
    """A line that was not understood or not followed."""

    text: str
    reason: str
    place: FileLine
    name: str = ""
    """The package that the line installs, if it names one."""
    package: bool = True
    """Whether the line would install something."""


class RequestedPackages(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the files ask for."""

    files: tuple[str, ...]
    """Every file that was read, also those that others include."""
    requirements: tuple[StatedRequirement, ...] = ()
    constraints: tuple[StatedRequirement, ...] = ()
    indexes: tuple[PackageIndex, ...] = ()
    python: tuple[StatedPython, ...] = ()
    image: BaseImage | None = None
    not_read: tuple[NotRead, ...] = ()
