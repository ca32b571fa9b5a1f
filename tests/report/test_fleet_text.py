"""How much of a fleet a terminal shows: the first of many, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import (
    Count,
    Deviation,
    Drift,
    Figure,
    FindingGroup,
    Fleet,
    Hardware,
    LinkFault,
    LinkRate,
    Links,
    Node,
    NodeFinding,
    Outlier,
    Sighting,
    Unread,
    Wording,
)
from gpudoctor.report.fleet_text import render
from gpudoctor.report.hostlist import nodes_of_names
from gpudoctor.report.page import PageLook

ROWS, VALUES, LINES = 12, 3, 3
WIDE = PageLook(width=200)


def fleet(**parts: Any) -> Fleet:
    return Fleet(
        tool=TOOL,
        created="",
        verdict="degraded",
        because="there is trouble",
        exit_code=0,
        hardware=(Hardware("H100", nodes_of_names(["n1"]), 8),),
        **parts,
    )


def shown(look: PageLook = WIDE, **parts: Any) -> list[str]:
    return [line.strip() for line in render(fleet(**parts), look).splitlines()]


def drift(number: int, *values: Sequence[str], **changes: Any) -> Drift:
    """Return a fact that differs; each value is on these nodes."""
    told = tuple(
        Deviation(value=f"v{place}", line=f"fact{number} a → v{place}", nodes=nodes_of_names(some), gpus=changes.pop("gpus", 0))
        for place, some in enumerate(values)
    )
    whole = {"path": "", "hardware": "H100", "what": f"fact{number}", "expected": "a", "agreeing": 9, "of": 10, "read_by_rules": True}
    return Drift(**{**whole, **changes}, deviations=told)


def unread(count: int) -> dict[str, Any]:
    return {"unread": tuple(Unread(source=f"{number}.json", kind="broken", reason="it is cut off") for number in range(count))}


def drifts(count: int) -> dict[str, Any]:
    return {"drifts": tuple(drift(number, ["n1"]) for number in range(count))}


def sightings(count: int) -> dict[str, Any]:
    sighting = Sighting(
        code="GD203",
        name="driver-too-old",
        severity="error",
        present=True,
        nodes=nodes_of_names(["n1"]),
        first="2026-11-20",
        last="2026-11-21",
        reports=2,
    )
    return {"history": tuple(replace(sighting, code=f"GD{number}") for number in range(count))}


def faults(count: int) -> dict[str, Any]:
    slow = tuple(LinkFault(kind="slow", nodes=(f"n{number}", "n99"), message="1 GB/s") for number in range(count))
    return {"links": Links(backend="nccl", nodes=nodes_of_names(["n1", "n2"]), pairs=(LinkRate(("n1", "n2"), 1e9),), faults=slow)}


def outliers(count: int) -> dict[str, Any]:
    """Return slow GPUs, each by another figure."""
    figures = tuple(
        Figure(name=f"figure{number}", model="", unit="s", count=5, median=1, spread=0, limit=2, outliers=1) for number in range(count)
    )
    slow = tuple(Outlier(node=f"n{number}", gpu="0000:01:00.0", figure=number, value=3, difference=2.0) for number in range(count))
    return {"figures": figures, "outliers": slow}


@pytest.mark.parametrize("some", [unread, drifts, sightings, faults, outliers])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_section_shows_twelve_rows_and_counts_the_others(some: Any, more: int) -> None:
    assert [line for line in shown(**some(ROWS + more)) if " more (-v" in line] == [f"and {more} more (-v shows them)"] * bool(more)
    every = shown(replace(WIDE, verbose=True), **some(ROWS + more))
    assert not [line for line in every if "-v shows" in line]
    short = shown(**some(ROWS + more))
    assert len(every) - len(short) >= more - bool(more)


@pytest.mark.parametrize("count", range(1, 6))
def test_three_other_values_of_a_fact_are_named_and_the_rest_counted(count: int) -> None:
    lines = shown(drifts=(drift(0, *([f"n{number}"] for number in range(count))),))
    assert [line for line in lines if line.startswith("fact0 a")] == [
        f"fact0 a → v{number}: n{number}" for number in range(min(count, VALUES))
    ]
    rest = [line for line in lines if "other value" in line]
    assert rest == {4: ["fact0: 1 other value: n3"], 5: ["fact0: 2 other values: n[3-4] (2 nodes)"]}.get(count, [])


@pytest.mark.parametrize("count", range(1, 6))
def test_three_messages_of_a_finding_are_shown_and_the_rest_counted(count: int) -> None:
    wordings = tuple(Wording(f"message {number}", nodes_of_names([f"n{number}"])) for number in range(count))
    group = FindingGroup(
        code="GD203",
        name="x",
        severity="error",
        title="Old",
        root=True,
        nodes=nodes_of_names(["n1"]),
        wordings=wordings,
        fix="Update the driver.",
        url="",
    )
    lines = shown(findings=(group,))
    lead = "1: " if count > 1 else ""
    assert [line for line in lines if "message " in line and "-v" not in line] == [
        f"{lead}message {number}" for number in range(min(count, VALUES))
    ]
    rest = [line for line in lines if "(-v shows them)" in line]
    assert rest == {4: ["and 1 other message (-v shows them)"], 5: ["and 2 other messages (-v shows them)"]}.get(count, [])
    assert "Fix: Update the driver." in lines
    assert "Fix: Update the driver:" in shown(findings=(replace(group, command="sudo apt upgrade"),))


def test_one_node_has_nobody_to_sum_with() -> None:
    assert "not run: PyTorch trained on fewer than two nodes" in shown(links=Links(backend="nccl", nodes=nodes_of_names(["n1"])))


@pytest.mark.parametrize(("verbose", "rows"), [(False, ROWS), (True, ROWS + 2)])
def test_twelve_groups_of_slow_gpus_are_shown(verbose: bool, rows: int) -> None:
    lines = shown(replace(WIDE, verbose=verbose), **outliers(ROWS + 2))
    assert sum("the median in figure" in line for line in lines) == rows


def test_what_many_nodes_share_has_its_hostlist_below_it() -> None:
    some = nodes_of_names(f"a{number}b" for number in range(0, 40, 2))
    (one,) = sightings(1)["history"]
    lines = render(fleet(history=(replace(one, nodes=some),)), PageLook()).splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith(": 20 nodes"))
    assert lines[place].startswith("  GD0 driver-too-old: since")
    assert lines[place + 1].startswith("    a")


@pytest.mark.parametrize("count", [1, 40, 50, 60, 70, 80, 120, 400])
def test_a_long_hostlist_has_three_lines_and_is_whole_with_v(count: int) -> None:
    some = nodes_of_names(f"a{number}b" for number in range(0, 2 * count, 2))

    def listed(*, verbose: bool) -> list[str]:
        lines = shown(PageLook(verbose=verbose), verdicts=(Count("broken", some),))
        begin = next(place for place, line in enumerate(lines) if line.startswith("broken"))
        return [lines[begin].split(maxsplit=2)[2], *lines[begin + 1 : lines.index("", begin)]]

    every = listed(verbose=True)
    assert "".join(every) == some.folded
    assert listed(verbose=False) == [*every[:LINES], *["… (-v shows all of them)"] * (len(every) > LINES)]


def test_what_nodes_have_in_common_says_how_many_gpus_only_if_there_are_more_than_nodes() -> None:
    lines = shown(
        drifts=(drift(0, ["n1"], gpus=1), drift(1, ["n1"], gpus=8), drift(2, ["n1", "n2"], gpus=2), drift(3, ["n1", "n2"], gpus=3))
    )
    assert "fact0 a → v0: n1" in lines
    assert "fact1 a → v0: n1 (1 node, 8 GPUs)" in lines
    assert "fact2 a → v0: n[1-2] (2 nodes)" in lines
    assert "fact3 a → v0: n[1-2] (2 nodes, 3 GPUs)" in lines


def test_facts_that_only_nodes_with_findings_have_are_left_out_and_counted() -> None:
    found = NodeFinding("GD203:machine", "driver-too-old", "error")
    some = (
        Node(name="n1", verdict="broken", findings=(found,)),
        Node(name="n2", verdict="ready", findings=(replace(found, severity="note"),)),
    )
    told = (drift(0, ["n1"]), drift(1, ["n1", "n2"]), drift(2, ["n2"], read_by_rules=False))
    lines = shown(nodes=some, drifts=told)
    assert not [line for line in lines if line.startswith("fact0")]
    assert "fact1 a → v0: n[1-2] (2 nodes)" in lines
    assert "Left out: 1 difference of nodes with findings; -v lists them." in lines
    assert (
        lines.index("Different from most nodes")
        < lines.index("Different from most nodes, and read by no rule")
        < lines.index("fact2 a → v0: n2")
    )
    every = shown(replace(WIDE, verbose=True), nodes=some, drifts=told)
    assert "fact0 a → v0: n1" in every
    assert not [line for line in every if line.startswith("Left out")]


def test_a_fact_without_a_majority_lists_its_values() -> None:
    split = drift(0, ["n1", "n2"], ["n3"], split=True, agreeing=2)
    assert "fact0: no majority, a on 2 nodes, v0 on 2 nodes and v1 on 1 node" in shown(drifts=(split,))
    other = drift(0, ["n1"], hardware="A100")
    assert "fact0 a → v0 [A100]: n1" in shown(drifts=(other,))


def test_slow_nodes_are_told_by_the_worst_figure_and_what_explains_it() -> None:
    figures = tuple(
        Figure(name=name, model="", unit="s", count=5, median=1, spread=0, limit=2, outliers=1) for name in ("copies", "matmul")
    )
    outlier = Outlier(node="n1", gpu="0000:01:00.0", figure=0, value=1, difference=-0.1)
    worse = Outlier(node="n1", gpu="0000:02:00.0", figure=1, value=1, difference=0.25, cause="GD712:gpu", message="Too hot")
    assert "10% below the median in copies: n1" in shown(figures=figures, outliers=(outlier,))
    both = shown(figures=figures, outliers=(replace(outlier, cause=worse.cause), worse))
    assert "Up to 25% above the median in matmul and 1 other figure; GD712: Too hot: n1 (1 node, 2 GPUs)" in both
