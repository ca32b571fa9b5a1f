"""A machine with its diagnosis, before it becomes a report."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.schema_fields import means
from gpudoctor.snapshot import Snapshot


class Timing(msgspec.Struct, frozen=True):
    """How long a part of the work took, in seconds."""

    what: Annotated[str, means("The part of the work.", "inventory", "smoke training")]
    seconds: Annotated[float, means("Wall-clock seconds.")]


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """A finished check, or an assumed machine with its diagnosis."""

    snapshot: Snapshot
    diagnosis: Diagnosis
    policy: Policy
    matrix_date: str
    timings: tuple[Timing, ...] = ()
    interrupted: int = 0
    """The signal that ended the check early; 0 if none did."""
