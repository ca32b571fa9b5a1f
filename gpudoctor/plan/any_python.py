"""The Python versions that an assumed environment may have where none is stated."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.pythons import in_common, ordered
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing, Snapshot, Supposed


def any_python(snapshot: Snapshot, matrix: Matrix) -> frozenset[str] | None:
    """Return the Python versions with wheels of what was stated; None for any."""
    return None if isinstance(snapshot.packages, Missing) else in_common(Stack(snapshot, snapshot.packages, matrix))


def saying_pythons(snapshot: Snapshot, matrix: Matrix) -> Snapshot:
    """Return the snapshot with these Python versions among its assumptions, after the machine, if none was stated."""
    found, said = ordered(any_python(snapshot, matrix) or ()), snapshot.supposed
    if not found or isinstance(said, Missing) or any(one.what == "Python" for one in said):
        return snapshot
    span = found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
    python = Supposed("Python", f"{span}, as the wheels allow", "not stated")
    return msgspec.structs.replace(snapshot, supposed=(*said[:1], python, *said[1:]))
