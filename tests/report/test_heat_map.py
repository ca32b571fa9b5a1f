"""The heat map of a fleet: where a node's mark is, how wide, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Deviation, Drift, Figure, FindingGroup, Fleet, LinkFault, Links, Node, Outlier
from gpudoctor.report.heat_map import WIDTH, CheckRow, RowPiece, check_rows, node_ticks
from gpudoctor.report.hostlist import nodes_of_names


def fleet(count: int, verdicts: Mapping[int, str], **parts: Any) -> Fleet:
    """Return a fleet of the nodes n0, n1, …, ready where no other verdict is given."""
    every = tuple(Node(name=f"n{place}", verdict=verdicts.get(place, "ready")) for place in range(count))
    return Fleet(tool=TOOL, created="", verdict="broken", because="", exit_code=1, nodes=every, **parts)


def verdict_row(count: int, verdicts: Mapping[int, str]) -> CheckRow:
    return check_rows(fleet(count, verdicts))[0]


def test_nodes_are_in_their_places_and_the_worst_is_drawn_last() -> None:
    row = verdict_row(4, {1: "broken", 2: "broken", 3: "degraded"})
    assert row.number == 3
    assert row.pieces == (
        RowPiece(WIDTH * 3 / 4, WIDTH / 4, "degraded", "n3: degraded"),
        RowPiece(WIDTH / 4, WIDTH / 2, "broken", "n1 to n2: 2 broken"),
    )


@pytest.mark.parametrize("place", [0, 700, 998, 999])
def test_a_single_node_among_a_thousand_is_wide_enough_to_see_and_inside_the_picture(place: int) -> None:
    (piece,) = verdict_row(1000, {place: "broken"}).pieces
    assert piece.title == f"n{place}: broken"
    assert piece.width >= 2
    assert 0 <= piece.x <= WIDTH * place / 1000
    assert WIDTH * (place + 1) / 1000 <= piece.x + piece.width <= WIDTH


def test_neighbours_share_a_column_only_where_there_are_more_nodes_than_columns() -> None:
    (whole,) = verdict_row(WIDTH, dict.fromkeys(range(WIDTH), "unknown")).pieces
    assert whole == RowPiece(0, WIDTH, "unknown", f"n0 to n{WIDTH - 1}: {WIDTH:,} unknown")
    degraded, broken = verdict_row(3 * WIDTH, {3: "degraded", 4: "broken", 8: "degraded"}).pieces
    assert (degraded.title, broken.title) == ("n6 to n8: 1 of 3 degraded", "n3 to n5: 1 of 3 broken")


def test_each_trouble_has_a_row_and_nodes_without_a_report_are_in_every_row() -> None:
    def finding(name: str, severity: str, root: bool, *some: str) -> FindingGroup:
        return FindingGroup(code="GD1", name=name, severity=severity, title="", root=root, nodes=nodes_of_names(some), url="")

    def figure(name: str, outliers: int) -> Figure:
        return Figure(name=name, model="", unit="s", count=5, median=1.0, spread=0.1, limit=2.0, outliers=outliers)

    drift = Drift(
        path="",
        hardware="",
        what="driver",
        expected="",
        agreeing=3,
        of=5,
        deviations=tuple(Deviation(value=one, line="", nodes=nodes_of_names([one])) for one in ("n1", "n3")),
        read_by_rules=True,
    )
    made = fleet(
        5,
        {1: "broken", 4: "no-report"},
        findings=(finding("hot", "warning", True, "n0"), finding("odd", "alarming", True, "n2"), finding("follows", "error", False, "n1")),
        drifts=(drift,),
        figures=(figure("copies", 0), figure("matmul", 1)),
        outliers=(Outlier(node="n0", gpu="", figure=0, value=1, difference=0), Outlier(node="n2", gpu="", figure=1, value=1, difference=0)),
        links=Links(backend="nccl", nodes=nodes_of_names(["n0"]), faults=(LinkFault(kind="slow", nodes=("n0", "n3"), message=""),)),
    )
    seen = {row.label: (row.number, sorted(piece.title for piece in row.pieces)) for row in check_rows(made)}
    silent = "n4: no report"
    assert seen == {
        "verdict": (2, ["n1: broken", silent]),
        "hot": (1, ["n0: warning", silent]),
        "odd": (1, ["n2: note", silent]),
        "driver": (2, ["n1: differs", "n3: differs", silent]),
        "matmul": (1, ["n2: slow", silent]),
        "all-reduce between nodes": (2, ["n0: error", "n3: error", silent]),
    }
    links = Links(backend="nccl", nodes=nodes_of_names(["n0"]))
    assert [row.label for row in check_rows(fleet(2, {}, links=links))] == ["verdict"]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 100, 5000])
def test_the_names_below_begin_and_end_with_the_fleet_and_stand_in_the_middle_of_their_columns(count: int) -> None:
    below = node_ticks(fleet(count, {}))
    places = [int(tick.name.removeprefix("n")) for tick in below]
    assert places == sorted({*places})
    assert min(count, 7) <= len(below) <= min(count, 10)
    assert not count or (places[0], places[-1]) == (0, count - 1)
    assert [tick.percent for tick in below] == [pytest.approx(100 * (place + 0.5) / count, abs=0.006) for place in places]
    gaps = [after - before for before, after in pairwise(places)]
    assert not gaps or max(gaps) <= min(gaps) + 1
