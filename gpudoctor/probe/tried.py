"""Calls a probe, or what reads several sections: a defect of ours costs these sections of the snapshot, not the whole report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from gpudoctor.errors import GpudoctorError
from gpudoctor.snapshot import NOT_ASKED, Cause, Missing, Snapshot

P = ParamSpec("P")
Section = TypeVar("Section")
WHEN = "%Y-%m-%dT%H:%M:%SZ"
"""How a snapshot states when the machine was observed."""


def tried(probe: Callable[P, Section], *arguments: P.args, **named: P.kwargs) -> Section | Missing:
    """Return what the probe returns; where it crashes, a gap that says so. Errors for the user pass."""
    try:
        return probe(*arguments, **named)
    except GpudoctorError:
        raise
    except Exception as error:  # noqa: BLE001 -- any defect
        return Missing(Cause.CRASHED, f"gpudoctor crashed in {probe.__module__}.{probe.__name__}: {type(error).__name__}: {error}")


def extended(seen: Snapshot, step: Callable[Concatenate[Snapshot, P], Snapshot], *arguments: P.args, **named: P.kwargs) -> Snapshot:
    """Return the snapshot with what the step reads; where it crashes, with that as the reason why the rest is missing."""
    read = tried(step, seen, *arguments, **named)
    return without_rest(seen, read) if isinstance(read, Missing) else read


def nothing_seen(reason: Missing) -> Snapshot:
    """Return a snapshot that has a reason in place of each section."""
    return without_rest(Snapshot(created=time.strftime(WHEN, time.gmtime())), reason)


def without_rest(seen: Snapshot, reason: Missing) -> Snapshot:
    """Return the snapshot with the reason in each section that was not read."""
    return msgspec.structs.replace(seen, **{field: reason for field in seen.__struct_fields__ if getattr(seen, field) == NOT_ASKED})
