"""How a fact of the matrix names its sources beside a finding; `gpudoctor matrix` lists all of them in full."""

from __future__ import annotations

from collections.abc import Sequence

_FEW = 3


def cited(sources: Sequence[str], row: str = "") -> str:
    """Where a fact comes from: the row that holds it, if it is named, and its first sources by id."""
    listed = ", ".join(sources[:_FEW]) + (", ..." if len(sources) > _FEW else "")
    return f"matrix: {row} ({listed})" if row else f"matrix: {listed}"
