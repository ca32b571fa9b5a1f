"""Names the nodes and GPUs behind outlying figures, with the finding that explains each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpudoctor.fleet.findings import Findings
from gpudoctor.fleet.outliers import FigureResult, Worse
from gpudoctor.fleet.roster import NodeRow, Roster
from gpudoctor.report.fleet import Figure, Outlier


def compared(results: Iterable[FigureResult], roster: Roster, findings: Findings) -> tuple[tuple[Figure, ...], tuple[Outlier, ...]]:
    """Return all figures in alphabetical order, and the outliers, those furthest from the median first."""
    ordered = sorted(results, key=lambda result: (result.key.model, result.key.name))
    outliers = [
        _outlier(worse, figure, one.median, roster.row(worse.place), findings)
        for figure, one in enumerate(ordered)
        for worse in one.worse
        if roster.counts(worse.place)
    ]
    numbers = Counter(outlier.figure for outlier in outliers)
    figures = tuple(_figure(one, numbers[figure]) for figure, one in enumerate(ordered))
    return figures, tuple(sorted(outliers, key=lambda outlier: -abs(outlier.difference)))


def _figure(figure: FigureResult, outliers: int) -> Figure:
    return Figure(
        name=figure.key.name,
        model=figure.key.model,
        unit=figure.key.kind.unit,
        count=figure.count,
        median=figure.median,
        spread=figure.spread,
        limit=figure.limit,
        outliers=outliers,
    )


def _outlier(worse: Worse, figure: int, median: float, row: NodeRow, findings: Findings) -> Outlier:
    cause, message = findings.explaining(row.findings, worse.address) or ("", "")
    difference = worse.value / median - 1
    return Outlier(node=row.name, gpu=worse.address, figure=figure, value=worse.value, difference=difference, cause=cause, message=message)
