"""How a finding cites the matrix's sources; `gpudoctor matrix` lists them in full."""

from __future__ import annotations

from collections.abc import Sequence

_FEW = 3


def cited(sources: Sequence[str], row: str = "") -> str:
    """The citation of a fact: its row, if named, and the ids of its first sources."""
    listed = ", ".join(sources[:_FEW]) + (", ..." if len(sources) > _FEW else "")
    return f"matrix: {row} ({listed})" if row else f"matrix: {listed}"
