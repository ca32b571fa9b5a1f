"""Names the nodes and GPUs behind outlying figures, with the finding that explains each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpudoctor.fleet.findings import FleetFindings
from gpudoctor.fleet.outliers import FigureResult, WorseNumber
from gpudoctor.fleet.roster import NodeRow, Roster
from gpudoctor.report.fleet import Figure, Outlier


def figures_and_outliers(
    results: Iterable[FigureResult], roster: Roster, findings: FleetFindings
) -> tuple[tuple[Figure, ...], tuple[Outlier, ...]]:
    """Return all figures in alphabetical order, and the outliers, those furthest from the median first."""
    ordered = sorted(results, key=lambda result: (result.key.model, result.key.name))
    outliers = [
        _reported_outlier(worse, figure, one.median, roster.row(worse.place), findings)
        for figure, one in enumerate(ordered)
        for worse in one.worse
        if roster.counts(worse.place)
    ]
    numbers = Counter(outlier.figure for outlier in outliers)
    figures = tuple(_reported_figure(one, numbers[figure]) for figure, one in enumerate(ordered))
    return figures, tuple(sorted(outliers, key=lambda outlier: -abs(outlier.difference)))


def _reported_figure(figure: FigureResult, outliers: int) -> Figure:
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


def _reported_outlier(worse: WorseNumber, figure: int, median: float, row: NodeRow, findings: FleetFindings) -> Outlier:
    cause, message = findings.explaining_finding(row.findings, worse.address) or ("", "")
    difference = worse.value / median - 1
    return Outlier(node=row.name, gpu=worse.address, figure=figure, value=worse.value, difference=difference, cause=cause, message=message)
