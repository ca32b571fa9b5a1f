"""What holds of the text report of every recorded machine."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator

import pytest

from gpudoctor.findings import Severity
from gpudoctor.report import groups, terminal
from gpudoctor.report.page import PageLook
from gpudoctor.report.summary import summary_parts
from tests.report import machines
from tests.seams.every import every

every_machine = every("name", machines.NAMES)


@functools.cache
def lines_of(name: str) -> list[str]:
    return terminal.render(machines.report(name)).splitlines()


def fixes() -> Iterator[int]:
    """Yield in which line each report has its first fix."""
    for name in machines.NAMES:
        yield from [number for number, line in enumerate(lines_of(name), 1) if line.startswith("Fix: ")][:1]


@pytest.mark.untraced
def test_the_fix_is_near_the_top() -> None:
    assert statistics.median(fixes()) <= 5


@pytest.mark.untraced
def test_a_report_is_short_unless_there_are_several_root_causes() -> None:
    long = [name for name in machines.NAMES if len(lines_of(name)) > 60]
    assert [name for name in long if len(groups.grouped_causes(machines.report(name))) == 1] == []


@every_machine
def test_the_summary_follows_the_headline(name: str) -> None:
    report, lines = machines.report(name), lines_of(name)
    first = next(iter(summary_parts(report.summary)), None)
    if first is None:  # a pasted program states nothing about the machine
        return
    if report.verdict == "ready":
        assert lines[0].endswith(first) or f"  {first} · " in lines[0]
    else:
        assert any(line == f"  {first}" or line.startswith(f"  {first} · ") for line in lines[1:4])


@every_machine
@pytest.mark.parametrize("verbose", [False, True])
def test_every_line_fits_and_plain_text_is_ascii(name: str, verbose: bool) -> None:
    report = machines.report(name)
    commands = {
        line for finding in report.findings for fix in finding.fixes for text in (fix.command, fix.verify) for line in text.splitlines()
    }
    for width in (60, 80, 120):
        text = terminal.render(report, PageLook(width=width, plain=width == 80, verbose=verbose))
        assert width != 80 or text.isascii()
        for line in text.splitlines():
            assert len(line) <= width or line.strip() in commands or " " not in line.strip()


@every_machine
def test_no_note_contradicts_the_verdict(name: str) -> None:
    report = machines.report(name)
    assert (report.verdict == "ready") <= (not report.causes)
    for group in groups.grouped_notes(report):
        assert group.first.severity == Severity.NOTE
        assert group.first.impact == "none"


@every_machine
def test_a_full_report_leaves_nothing_out(name: str) -> None:
    report = machines.report(name)
    text = "".join(terminal.render(report, PageLook(width=100, verbose=True)).split())
    for finding in report.findings:
        assert "".join(finding.message.split()) in text
        for fix in finding.fixes if not finding.because_of else ():
            assert "".join(fix.command.split()) in text
        for seen in finding.evidence if not finding.because_of else ():
            assert "".join(seen.value.split()) in text
    for item in report.could_not_tell:
        assert item.code in text
    assert "-vshowseverything" not in text


@every_machine
def test_what_was_not_checked_takes_five_lines_at_most(name: str) -> None:
    lines = lines_of(name)
    if "Not checked" not in lines:
        assert machines.report(name).could_not_tell == ()
        return
    start = lines.index("Not checked") + 1
    assert 0 < lines.index("", start) - start <= 5


def words(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


@every_machine
def test_a_report_that_leaves_out_a_command_says_how_to_see_it(name: str) -> None:
    report = machines.report(name)
    short, full = words(terminal.render(report)), words(terminal.render(report, PageLook(verbose=True)))
    commands = {words(line) for finding in report.findings for fix in finding.fixes for line in fix.command.splitlines()}
    if any(command in full and command not in short for command in commands):
        assert "-v shows everything" in short
