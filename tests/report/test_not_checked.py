"""What was not checked: a line for each reason, the graver first."""

from __future__ import annotations

import msgspec

from gpudoctor.report import not_checked
from gpudoctor.report.build import build_report
from gpudoctor.report.model import CouldNotTell, Report, Subject
from gpudoctor.report.page import Page, PageLook
from tests.report import samples

MACHINE = Subject("machine", "")


def item(code: str, reason: str, cause: str = "failed", *, kind: str = "could-not-tell", because_of: tuple[str, ...] = ()) -> CouldNotTell:
    return CouldNotTell(code=code, name=f"rule-{code}", subject=MACHINE, kind=kind, reason=reason, because_of=because_of, cause=cause)


def lines(*items: CouldNotTell, user: str = "uid 1000", verbose: bool = False) -> list[str]:
    report = build_report(samples.mismatch)
    examined = msgspec.structs.replace(report.examined, user=user)
    return drawn(msgspec.structs.replace(report, could_not_tell=items, examined=examined), verbose=verbose)


def drawn(report: Report, *, verbose: bool) -> list[str]:
    page = Page(PageLook(verbose=verbose))
    not_checked.draw(page, report)
    return page.render().splitlines()


def test_rules_with_the_same_reason_share_a_line() -> None:
    assert lines(item("GD1", "no tables"), item("GD2", "no tables"), item("GD3", "no log")) == [
        "Not checked",
        "  no tables: GD1 rule-GD1, GD2 rule-GD2",
        "  no log: GD3 rule-GD3",
    ]


def test_what_only_root_may_read_is_said_once_and_not_to_root() -> None:
    denied = (item("GD1", "/dev/kmsg: Operation not permitted", "denied"), item("GD2", "/proc/driver: Permission denied", "denied"))
    assert lines(*denied) == ["Not checked", "  only root may read it: GD1 rule-GD1, GD2 rule-GD2"]
    assert len(lines(*denied, user="root")) == 3


def test_our_crashes_come_first_and_consequences_last() -> None:
    found = lines(
        item("GD1", "it is blocked", because_of=("GD202",)),
        item("GD2", "no log"),
        item("GD3", "KeyError: 'x'", "", kind="crashed"),
    )
    assert found == [
        "Not checked",
        "  KeyError: 'x'; gpudoctor crashed, please report it: GD3 rule-GD3",
        "  no log: GD2 rule-GD2",
        "  blocked by the problem above: GD1 rule-GD1",
    ]


def test_a_short_report_has_five_lines_and_a_full_one_all() -> None:
    many = [item(f"GD{number}", f"reason {number}") for number in range(8)]
    assert lines(*many)[-1] == "  ... 4 more with -v"
    assert len(lines(*many)) == 6
    full = lines(*many, verbose=True)
    assert full[-1] == "  GD7 rule-GD7: reason 7"
    assert len(full) == 9


def test_many_rules_are_counted_and_a_long_reason_wraps_where_there_is_room() -> None:
    assert lines(*(item(f"GD{number}", "no log") for number in range(100, 140)))[1] == "  no log: 40 rules"
    (_, *told) = lines(item("GD1", "a reason that " + "goes on and " * 8 + "ends"))
    assert len(told) == 2
    assert told[0].startswith("  GD1: a reason that")
