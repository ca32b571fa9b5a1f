"""The Python versions that an assumed environment may have where none is stated."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.pythons import in_common, ordered, span_of
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing, Snapshot, Supposed


def any_python(snapshot: Snapshot, matrix: Matrix) -> frozenset[str] | None:
    """Return the Python versions with wheels of what was stated; None for any."""
    return None if isinstance(snapshot.packages, Missing) else in_common(Stack(snapshot, snapshot.packages, matrix))


def saying_pythons(snapshot: Snapshot, matrix: Matrix) -> Snapshot:
    """Return the snapshot with these Python versions, or those that files allow, among its assumptions, if none was stated."""
    found, said = ordered(any_python(snapshot, matrix) or ()), snapshot.supposed
    allowed = None if isinstance(snapshot.packages, Missing) else snapshot.packages.pythons
    if isinstance(said, Missing) or any(supposed.what == "Python" for supposed in said) or not (found or allowed):
        return snapshot
    span = f"{span_of(found)}, as {f'{allowed.specifier} and ' if allowed else ''}the wheels allow" if found else ""
    python = Supposed("Python", span or (allowed.specifier if allowed else ""), allowed.where if allowed else "not stated")
    return msgspec.structs.replace(snapshot, supposed=(*said[:1], python, *said[1:]))
