"""The heat map of a fleet: a row for each check, a column for each node or for some neighbours, as pieces of an SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from gpudoctor.report.fleet import Fleet

WIDTH, HEIGHT = 1000, 18
"""Of a row, in the units of its SVG."""
_MIN_WIDTH = 3.0
"""A single node must be seen among thousands."""
_MAX_DIFFERENCES = 40
"""Rows for facts that differ; the other facts are in the JSON."""
_TICK_COUNT = 8
NO_REPORT = "no-report"
KINDS_BY_RANK = ("ready", "note", NO_REPORT, "unknown", "slow", "differs", "warning", "degraded", "error", "broken")
"""What a cell can show, the worst last."""


class RowPiece(NamedTuple):
    """Neighbouring nodes with the same result."""

    x: float
    width: float
    kind: str
    title: str


class CheckRow(NamedTuple):
    """One check over all nodes."""

    label: str
    code: str
    number: int
    """Nodes that it is about."""
    pieces: tuple[RowPiece, ...]


class NodeTick(NamedTuple):
    """The name of a node below its place."""

    percent: float
    name: str


def check_rows(fleet: Fleet) -> list[CheckRow]:
    """Return the verdicts, then a row for each finding, difference, slow figure and bad link."""
    verdicts = {node.name: node.verdict if node.verdict in KINDS_BY_RANK else "unknown" for node in fleet.nodes}
    names = list(verdicts)
    silent = {name: kind for name, kind in verdicts.items() if kind == NO_REPORT}
    bad = sum(kind != "ready" for kind in verdicts.values())
    drawn = [CheckRow("verdict", "", bad, _ordered_pieces(names, verdicts))]
    for label, code, kind, some in _checks_of_fleet(fleet):
        marked = dict.fromkeys(some, kind)
        drawn.append(CheckRow(label, code, len(marked), _ordered_pieces(names, {**silent, **marked})))
    return drawn


def node_ticks(fleet: Fleet) -> list[NodeTick]:
    """Return the names to write below the columns."""
    count = len(fleet.nodes)
    shown = sorted({number * (count - 1) // max(_TICK_COUNT - 1, 1) for number in range(_TICK_COUNT)}) if count else []
    return [NodeTick(round(100 * (place + 0.5) / count, 2), fleet.nodes[place].name) for place in shown]


def _checks_of_fleet(fleet: Fleet) -> Iterator[tuple[str, str, str, Iterable[str]]]:
    """Yield the label, code and kind of each row, and its nodes."""
    for finding in fleet.findings:
        if finding.root:
            yield finding.name, finding.code, finding.severity if finding.severity in KINDS_BY_RANK else "note", finding.nodes.names
    for drift in fleet.drifts[:_MAX_DIFFERENCES]:
        yield drift.what, "", "differs", [name for deviation in drift.deviations for name in deviation.nodes.names]
    for place, figure in enumerate(fleet.figures):
        if figure.outliers:
            yield figure.name, "", "slow", [outlier.node for outlier in fleet.outliers if outlier.figure == place]
    if fleet.links is not None and fleet.links.faults:
        yield "all-reduce between nodes", "", "error", [name for fault in fleet.links.faults for name in fault.nodes]


def _ordered_pieces(names: Sequence[str], kinds: Mapping[str, str]) -> tuple[RowPiece, ...]:
    """Return the pieces of a row, the worst last: what is drawn later hides its neighbours where it is wider than a node."""
    return tuple(sorted(_row_pieces(names, kinds), key=lambda piece: KINDS_BY_RANK.index(piece.kind)))


def _row_pieces(names: Sequence[str], kinds: Mapping[str, str]) -> Iterator[RowPiece]:
    """Yield what differs from a good result; the ground of the row is good."""
    count = len(names)
    columns = min(count, WIDTH)
    bounds = [number * count // columns for number in range(columns + 1)] if columns else []
    worst = [max((kinds.get(name, "ready") for name in names[one:end]), key=KINDS_BY_RANK.index) for one, end in pairwise(bounds)]
    place = 0
    for kind, same in groupby(worst):
        first, place = place, place + len(list(same))
        if kind != "ready":
            x, end = first / columns * WIDTH, place / columns * WIDTH
            width = max(end - x, _MIN_WIDTH)
            title = _piece_title(names[bounds[first] : bounds[place]], kinds, kind)
            yield RowPiece(round(min(x, WIDTH - width), 1), round(width, 1), kind, title)


def _piece_title(names: Sequence[str], kinds: Mapping[str, str], kind: str) -> str:
    """Return which nodes a piece stands for, and how many of them have its result."""
    words = kind.replace("-", " ")
    if len(names) == 1:
        return f"{names[0]}: {words}"
    alike = Counter(kinds.get(name, "ready") for name in names)[kind]
    number = f"{alike:,}" if alike == len(names) else f"{alike:,} of {len(names):,}"
    return f"{names[0]} to {names[-1]}: {number} {words}"
