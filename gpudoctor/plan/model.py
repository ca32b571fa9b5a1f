"""The combination that the user asks about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.snapshot import AllowedPythons, Supposed, Unread


class StatedBuild(msgspec.Struct, frozen=True):
    """The build of a package that an index, conda or an image holds."""

    local: str
    """Its local version: cu128, cpu; "conda" for a build that no table lists."""
    only: bool
    """Whether the installer sees no other builds."""
    where: str
    cuda: str = ""
    """The CUDA of a build that no table lists."""
    has_cuda: bool | None = None


class FileStatements(msgspec.Struct, frozen=True):
    """What files of requirements state beside requirements."""

    builds: Mapping[str, StatedBuild] = {}
    """By distribution."""
    limits: Mapping[str, Requirement] = {}
    """The constraints, by distribution."""
    pythons: tuple[str, ...] = ()
    """The Python versions that the files allow; () for any."""


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """A combination as the user wrote it, each field named after its option; None and () were not stated."""

    requirements: tuple[str, ...]
    """PEP 508."""
    driver: str | None = None
    kernel_module: Literal["open", "proprietary"] | None = None
    gpus: tuple[str, ...] = ()
    cc: str | None = None
    python: str | None = None
    python_where: str = "--python-version"
    os: Literal["linux", "windows", "macos", "wsl"] = "linux"
    arch: str | None = None
    libc: str | None = None
    libc_where: str = "--libc"
    cuda_compat: str | None = None
    system_cuda: str | None = None
    system_cudnn: str | None = None
    system_where: str = ""
    """Where a file states these; empty for the options."""
    constraints: tuple[str, ...] = ()
    """PEP 508: what limits a package that something else requires."""
    alone: bool = False
    """Whether to leave out the packages that these require."""
    places: Mapping[str, str] = {}
    """Where a requirement was read; one of the command line has no place."""
    builds: Mapping[str, StatedBuild] = {}
    """By distribution, or by a requirement of the files."""
    pythons: AllowedPythons | None = None
    """Those that the files allow, if no version is stated."""
    without_gpu_code: frozenset[str] = frozenset()
    """Packages that a lock file shows to hold no GPU code."""
    unread: tuple[Unread, ...] = ()
    not_followed: tuple[str, ...] = ()
    """Lines that install nothing by themselves and were not read."""
    supposed: tuple[Supposed, ...] = ()
    """What the files state, for the report."""
