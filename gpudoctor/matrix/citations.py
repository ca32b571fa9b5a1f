"""How a finding cites the matrix's sources; `gpudoctor matrix` lists them in full."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_SOURCES = 3


def citation(sources: Sequence[str], row: str = "") -> str:
    """The citation of a fact: its row, if named, and the ids of its first sources."""
    listed = ", ".join(sources[:_MAX_SOURCES]) + (", ..." if len(sources) > _MAX_SOURCES else "")
    return f"matrix: {row} ({listed})" if row else f"matrix: {listed}"
