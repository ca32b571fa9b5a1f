"""The Python versions that an assumed environment may have where none is stated."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.pythons import common_pythons, ordered_pythons, python_range
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing, Snapshot, Supposed


def usable_pythons(snapshot: Snapshot, matrix: Matrix) -> frozenset[str] | None:
    """Return the Python versions with wheels of what was stated; None for any."""
    return None if isinstance(snapshot.packages, Missing) else common_pythons(Stack(snapshot, snapshot.packages, matrix))


def with_stated_pythons(snapshot: Snapshot, matrix: Matrix) -> Snapshot:
    """Return the snapshot with these Python versions, or those that files allow, among its assumptions, if none was stated."""
    found, said = ordered_pythons(usable_pythons(snapshot, matrix) or ()), snapshot.supposed
    allowed = None if isinstance(snapshot.packages, Missing) else snapshot.packages.pythons
    if isinstance(said, Missing) or any(supposed.what == "Python" for supposed in said) or not (found or allowed):
        return snapshot
    span = f"{python_range(found)}, as {f'{allowed.specifier} and ' if allowed else ''}the wheels allow" if found else ""
    python = Supposed("Python", span or (allowed.specifier if allowed else ""), allowed.where if allowed else "not stated")
    return msgspec.structs.replace(snapshot, supposed=(*said[:1], python, *said[1:]))
