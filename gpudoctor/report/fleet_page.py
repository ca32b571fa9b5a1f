"""A fleet as one page of HTML: no scripts, and nothing from elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import cast

from gpudoctor.findings.naming import counted
from gpudoctor.report import heat_map, templates
from gpudoctor.report.amounts import amount
from gpudoctor.report.fixes import LEADS
from gpudoctor.report.fleet import Fleet, Outlier
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


def render(fleet: Fleet) -> Iterator[str]:
    """Yield the page in pieces."""
    rows = heat_map.rows(fleet)
    kinds = {piece.kind for row in rows for piece in row.pieces}
    return cast(
        "Iterator[str]",
        templates.page("fleet.html.jinja").generate(
            fleet=fleet,
            mark=VERDICTS.get(fleet.verdict, Mark("?", "?", "", fleet.verdict.upper())),
            about=_about(fleet),
            rows=rows,
            ticks=heat_map.ticks(fleet),
            legend=[(words, key) for words, *alike in _LEGEND if (key := next((kind for kind in alike if kind in kinds | {"ready"}), ""))],
            width=heat_map.WIDTH,
            height=heat_map.HEIGHT,
            slow=_by_gpu(fleet.outliers[:_MOST]),
            left_out=list(islice((node for node in fleet.nodes if not node.usable), _MOST)),
            leads=LEADS,
            few=lambda rows: rows[:_MOST],
            amount=amount,
            counted=counted,
        ),
    )


def _about(fleet: Fleet) -> list[str]:
    """Return what the fleet is, in short parts."""
    verdicts = [f"{count.nodes.count:,} {count.verdict.replace('-', ' ')}" for count in fleet.verdicts]
    return [
        f"{len(fleet.nodes):,} node{'s' * (len(fleet.nodes) != 1)}",
        *verdicts,
        *(f"{hardware.nodes.count:,} with {hardware.name}" for hardware in fleet.hardware),
    ]


def _by_gpu(outliers: Iterable[Outlier]) -> list[list[Outlier]]:
    """Return the figures of each GPU together, the worst GPU first."""
    found: dict[tuple[str, str], list[Outlier]] = defaultdict(list)
    for outlier in outliers:
        found[outlier.node, outlier.gpu].append(outlier)
    return list(found.values())
