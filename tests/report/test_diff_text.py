"""What the text of a diff says, section by section."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.report.build import TOOL
from gpudoctor.report.diff import CauseChange, Diff, Examined, FactChange
from gpudoctor.report.diff_text import diff_as_markdown, render
from gpudoctor.report.page import PageLook


def cause(kind: str = "appeared", before: str = "", after: str = "error", *, root: bool = True) -> CauseChange:
    return CauseChange(kind, "GD203:torch", "driver-too-old", before, after, "Driver is too old", root)


def fact(line: str = "driver 1 → 2", path: str = "kernel_driver.version", subject: str = "", **changes: bool) -> FactChange:
    whole: dict[str, Any] = {"read_by_rules": True, **changes}
    return FactChange(path, "changed", subject, "", "1", "2", line, **whole)


def diff(causes: tuple[CauseChange, ...] = (), facts: tuple[FactChange, ...] = (), ignored: int = 0, after: str = "ready") -> Diff:
    before, later = Examined("a.json", "2026-11-20", "ready"), Examined("b.json", "2026-11-21", after)
    return Diff(tool=TOOL, before=before, after=later, causes=causes, facts=facts, ignored=ignored)


def lines(seen: Diff, *, verbose: bool = False) -> list[str]:
    """Return the text; its Markdown must say the same."""
    text = [line.strip() for line in render(seen, PageLook(width=200, verbose=verbose)).splitlines() if line]
    marked = [line.lstrip("-#* ").rstrip("*").replace("\\", "") for line in diff_as_markdown(seen, verbose=verbose).splitlines() if line]
    assert marked == text
    return text


@pytest.mark.parametrize(
    ("seen", "differs"),
    [
        (diff(), False),
        (diff(causes=(cause(),)), True),
        (diff(facts=(fact(),)), True),
        (diff(facts=(fact(read_by_rules=False),)), True),
        (diff(facts=(fact(unknown=True),)), True),
        (diff(facts=(fact(volatile=True),)), False),
        (diff(facts=(fact(volatile=True, unknown=True),)), False),
        (diff(facts=(fact(not_compared=True),)), False),
        (diff(ignored=3), False),
    ],
)
def test_only_what_counts_is_a_difference(seen: Diff, differs: bool) -> None:
    assert lines(seen)[0] == ("a.json → b.json: ready" if differs else "No differences between a.json and b.json.")


def test_a_verdict_that_changed_is_in_the_first_line() -> None:
    assert lines(diff(causes=(cause(),), after="broken"))[0] == "a.json → b.json: ready → broken"


@pytest.mark.parametrize(
    ("kind", "before", "after", "words"),
    [
        ("appeared", "", "error", "appeared, error"),
        ("gone", "error", "", "gone, error"),
        ("changed", "warning", "error", "changed, warning → error"),
        ("changed", "error", "error", "changed, error"),
        ("moved", "error", "error", "moved"),
    ],
)
def test_a_finding_has_its_severity(kind: str, before: str, after: str, words: str) -> None:
    assert lines(diff(causes=(cause(kind, before, after),)))[1:] == ["Causes", f"{words}: driver-too-old: Driver is too old"]


def test_consequences_fields_and_what_was_left_out_are_shown_with_v() -> None:
    seen = diff(
        (cause(root=False),),
        (
            fact(),
            fact("temperature 40 → 50", "t", volatile=True),
            fact("uuid: appeared", "u", not_compared=True),
            fact("power: gone", "p", unknown=True),
        ),
        ignored=1,
    )
    assert lines(seen)[1:] == [
        "Facts that rules read",
        "driver 1 → 2",
        "Not known any more",
        "power: gone",
        "Left out: 1 fact that only one of the two reports has and 1 value that changed by itself, such as temperature and free memory; -v lists them.",
        "Ignored: 1 fact.",
    ]
    assert lines(seen, verbose=True)[1:] == [
        "Causes",
        "appeared, error: driver-too-old: Driver is too old",
        "Facts that rules read",
        "driver 1 → 2  [kernel_driver.version]",
        "Not known any more",
        "power: gone  [p]",
        "Values that change by themselves",
        "temperature 40 → 50  [t]",
        "Not compared",
        "uuid: appeared  [u]",
    ]


@pytest.mark.parametrize("count", [1, 12, 13])
def test_many_facts_that_no_rule_reads_are_counted_by_section(count: int) -> None:
    facts = tuple(fact(f"fact{number}", f"host.f{number}", read_by_rules=False) for number in range(count - 1))
    facts += (fact("other", "device_nodes.x", read_by_rules=False),)
    told = lines(diff(facts=facts))[1:]
    by_section = ["host: 12 changes (-v lists them)", "device nodes: 1 change (-v lists them)"]
    assert told == ["Other facts", *([change.line for change in facts] if count <= 12 else by_section)]


def test_the_same_change_of_several_gpus_is_one_line() -> None:
    facts = tuple(
        fact(f"GPU {number} (0000:0{number}:00.0): PCIe link {link}", f"nvml.gpus.{number}", f"GPU {number} (0000:0{number}:00.0)")
        for number, link in enumerate(("x16 → x8", "x16 → x4", "x16 → x8", "x16 → x8"))
    )
    assert lines(diff(facts=facts))[2:] == ["GPUs 0, 2–3: PCIe link x16 → x8", "GPU 1 (0000:01:00.0): PCIe link x16 → x4"]  # noqa: RUF001 -- a dash joins neighbours
