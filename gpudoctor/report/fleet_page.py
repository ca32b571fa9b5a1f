"""A fleet as one page of HTML: no scripts, and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.findings.naming import counted
from gpudoctor.report import heat_map, templates
from gpudoctor.report.amounts import amount
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.words import VERDICTS, Mark

_MOST = 1000
"""Rows of a table; the JSON has the others."""
_LEGEND = (
    ("ready", "ready"),
    ("note", "note"),
    ("warning, degraded", "warning", "degraded"),
    ("error, broken", "error", "broken"),
    ("slow, different", "slow", "differs"),
    ("unknown", "unknown"),
    ("no report", "no-report"),
)
"""What each colour means: in words, then its kinds."""


def render(fleet: Fleet) -> str:
    """Return the page."""
    rows = heat_map.rows(fleet)
    kinds = {piece.kind for row in rows for piece in row.pieces}
    return str(
        templates.page("fleet.html.jinja").render(
            fleet=fleet,
            mark=VERDICTS.get(fleet.verdict, Mark("?", "?", "", fleet.verdict.upper())),
            about=_about(fleet),
            rows=rows,
            ticks=heat_map.ticks(fleet),
            legend=[(words, key) for words, *alike in _LEGEND if (key := next((kind for kind in alike if kind in kinds | {"ready"}), ""))],
            width=heat_map.WIDTH,
            height=heat_map.HEIGHT,
            left_out=[node for node in fleet.nodes if not node.usable][:_MOST],
            few=_few,
            amount=amount,
            counted=counted,
        )
    )


def _about(fleet: Fleet) -> list[str]:
    """Return what the fleet is, in short parts."""
    verdicts = [f"{count.nodes.count:,} {count.verdict.replace('-', ' ')}" for count in fleet.verdicts]
    return [
        f"{len(fleet.nodes):,} node{'s' * (len(fleet.nodes) != 1)}",
        *verdicts,
        *(f"{one.nodes.count:,} with {one.name}" for one in fleet.hardware),
    ]


def _few(rows: Sequence[object]) -> Sequence[object]:
    """Return the rows that the page shows."""
    return rows[:_MOST]
