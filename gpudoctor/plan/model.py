"""What is to be supposed, and what comes out of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.snapshot import Snapshot


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """A combination as the user wrote it, each field under its option's name; None and () were not stated."""

    requirements: tuple[str, ...]
    """PEP 508."""
    driver: str | None = None
    gpus: tuple[str, ...] = ()
    cc: str | None = None
    python: str | None = None
    os: Literal["linux", "windows", "macos", "wsl"] = "linux"
    arch: str | None = None
    system_cuda: str | None = None
    system_cudnn: str | None = None


class Timing(msgspec.Struct, frozen=True):
    """How long a part of the work took."""

    what: str
    seconds: float


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """A supposed machine, judged."""

    snapshot: Snapshot
    diagnosis: Diagnosis
    policy: Policy
    matrix_date: str
    timings: tuple[Timing, ...] = ()
    interrupted: int = 0
