"""Calls a probe, or what reads several sections: a defect of ours costs these sections of the snapshot, not the whole report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from gpudoctor.errors import GpudoctorError
from gpudoctor.snapshot import NOT_ASKED, Cause, Missing, Snapshot

ProbeParameters = ParamSpec("ProbeParameters")
ProbeResult = TypeVar("ProbeResult")
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
"""How a snapshot states when the machine was observed."""


def result_or_gap(
    probe: Callable[ProbeParameters, ProbeResult], *arguments: ProbeParameters.args, **named: ProbeParameters.kwargs
) -> ProbeResult | Missing:
    """Return what the probe returns; where it crashes, a gap that says so. Errors for the user pass."""
    try:
        return probe(*arguments, **named)
    except GpudoctorError:
        raise
    except Exception as error:  # noqa: BLE001 -- any defect
        return Missing(Cause.CRASHED, f"gpudoctor crashed in {probe.__module__}.{probe.__name__}: {type(error).__name__}: {error}")


def snapshot_with_step(
    seen: Snapshot,
    step: Callable[Concatenate[Snapshot, ProbeParameters], Snapshot],
    *arguments: ProbeParameters.args,
    **named: ProbeParameters.kwargs,
) -> Snapshot:
    """Return the snapshot with what the step reads; where it crashes, with that as the reason why the rest is missing."""
    read = result_or_gap(step, seen, *arguments, **named)
    return snapshot_with_gaps(seen, read) if isinstance(read, Missing) else read


def empty_snapshot(reason: Missing) -> Snapshot:
    """Return a snapshot that has a reason in place of each section."""
    return snapshot_with_gaps(Snapshot(created=time.strftime(TIME_FORMAT, time.gmtime())), reason)


def snapshot_with_gaps(seen: Snapshot, reason: Missing) -> Snapshot:
    """Return the snapshot with the reason in each section that was not read."""
    return msgspec.structs.replace(seen, **{field: reason for field in seen.__struct_fields__ if getattr(seen, field) == NOT_ASKED})
