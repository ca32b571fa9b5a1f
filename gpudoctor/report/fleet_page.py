"""A fleet as one page of HTML: no scripts, and nothing from elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import cast

from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report import heat_map, templates
from gpudoctor.report.amounts import amount_text
from gpudoctor.report.fixes import LEAD_BY_KIND
from gpudoctor.report.fleet import Fleet, Outlier
from gpudoctor.report.words import VERDICT_MARKS, Mark

_MAX_ROWS = 1000
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
    rows = heat_map.check_rows(fleet)
    kinds = {piece.kind for row in rows for piece in row.pieces}
    return cast(
        "Iterator[str]",
        templates.page_template("fleet.html.jinja").generate(
            fleet=fleet,
            mark=VERDICT_MARKS.get(fleet.verdict, Mark("?", "?", "", fleet.verdict.upper())),
            about=_fleet_parts(fleet),
            rows=rows,
            ticks=heat_map.node_ticks(fleet),
            legend=[(words, key) for words, *alike in _LEGEND if (key := next((kind for kind in alike if kind in kinds | {"ready"}), ""))],
            width=heat_map.WIDTH,
            height=heat_map.HEIGHT,
            slow=_outliers_by_gpu(fleet.outliers[:_MAX_ROWS]),
            left_out=list(islice((node for node in fleet.nodes if not node.usable), _MAX_ROWS)),
            leads=LEAD_BY_KIND,
            few=lambda rows: rows[:_MAX_ROWS],
            amount=amount_text,
            counted=count_with_noun,
        ),
    )


def _fleet_parts(fleet: Fleet) -> list[str]:
    """Return what the fleet is, in short parts."""
    verdicts = [f"{count.nodes.count:,} {count.verdict.replace('-', ' ')}" for count in fleet.verdicts]
    return [
        f"{len(fleet.nodes):,} node{'s' * (len(fleet.nodes) != 1)}",
        *verdicts,
        *(f"{hardware.nodes.count:,} with {hardware.name}" for hardware in fleet.hardware),
    ]


def _outliers_by_gpu(outliers: Iterable[Outlier]) -> list[list[Outlier]]:
    """Return the figures of each GPU together, the worst GPU first."""
    found: dict[tuple[str, str], list[Outlier]] = defaultdict(list)
    for outlier in outliers:
        found[outlier.node, outlier.gpu].append(outlier)
    return list(found.values())
