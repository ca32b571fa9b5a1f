"""Calls a probe: a defect of ours costs its own section of the snapshot, not the whole report."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gpudoctor.errors import GpudoctorError
from gpudoctor.snapshot import Cause, Missing

P = ParamSpec("P")
Section = TypeVar("Section")


def tried(probe: Callable[P, Section], *arguments: P.args, **named: P.kwargs) -> Section | Missing:
    """Return what the probe returns; where it crashes, a gap that says so. Errors for the user pass."""
    try:
        return probe(*arguments, **named)
    except GpudoctorError:
        raise
    except Exception as error:  # noqa: BLE001 -- any defect
        return Missing(Cause.CRASHED, f"gpudoctor crashed in {probe.__module__}.{probe.__name__}: {type(error).__name__}: {error}")
