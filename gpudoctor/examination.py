"""A machine with its diagnosis, before it becomes a report."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.snapshot import Snapshot


class Timing(msgspec.Struct, frozen=True):
    """How long a part of the work took, in seconds."""

    what: Annotated[str, msgspec.Meta(description="The part of the work.", examples=["inventory", "smoke training"])]
    seconds: Annotated[float, msgspec.Meta(description="Wall-clock seconds.")]


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """A finished check, or an assumed machine with its diagnosis."""

    snapshot: Snapshot
    diagnosis: Diagnosis
    policy: Policy
    matrix_date: str
    timings: tuple[Timing, ...] = ()
    interrupted: int = 0
    """The signal that ended the check early; 0 if none did."""
