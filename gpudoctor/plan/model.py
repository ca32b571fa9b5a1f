"""The combination that the user asks about."""

from __future__ import annotations

from typing import Literal

import msgspec


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """A combination as the user wrote it, each field named after its option; None and () were not stated."""

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
