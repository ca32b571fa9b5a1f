"""How a report begins: the headline, then the line that sums the machine up."""

from __future__ import annotations

from gpudoctor.findings import Level, Rung, RungState, Verdict
from gpudoctor.findings.wording import count_with_noun, joined_words
from gpudoctor.report import groups
from gpudoctor.report.headline import Headline, headline_of_report, proven_clause
from gpudoctor.report.model import LadderRow, Report, Step
from gpudoctor.report.page import Page
from gpudoctor.report.summary import summary_parts
from gpudoctor.report.words import capitalised

_MAX_NAMES = 3
"""Packages that a headline names."""
_MAX_LINES = 3
"""Lines of a headline; a longer message follows the summary."""


def draw(page: Page, report: Report) -> bool:
    """Add the headline and the summary; return whether the headline holds the message of the first root cause."""
    top = headline_of_report(report)
    lead = _lead_text(page, top)
    if report.verdict == Verdict.READY:
        page.parts(summary_parts(report.summary), lead, lead_style=top.mark.style, hang=2)
        _draw_proven(page, report)
        return False
    group = next(iter(groups.grouped_causes(report)), None) if top.code else None
    message = groups.group_message(report, group) if group else top.text
    told = len(page.wrapped_lines(message, lead, hang=2)) <= _MAX_LINES
    instead = f"{group.first.title}." if group else _unverified_text(report)
    page.paragraph(message if told else instead, lead, lead_style=top.mark.style, hang=2)
    page.parts(summary_parts(report.summary), style="dim", indent=2)
    if not told and not group:
        page.paragraph(f"{capitalised(message)}.")
    return told and group is not None


def _unverified_text(report: Report) -> str:
    """Return what was not verified, without the reasons."""
    names = list(dict.fromkeys(not_judged.what for not_judged in report.not_judged))
    if not names:
        return "not everything was verified"
    shown = names if len(names) <= _MAX_NAMES else [*names[:_MAX_NAMES], f"{len(names) - _MAX_NAMES} more"]
    return f"not everything was checked: {joined_words(shown)}"


def _lead_text(page: Page, top: Headline) -> str:
    """Return the verdict, the code of the finding and what does not work."""
    doubt = f"({top.confidence})" if top.confidence else ""
    words = " ".join(filter(None, (page.sign(top.mark), top.mark.word, top.code, doubt)))
    return f"{words}  {top.scope}: " if top.scope else f"{words}  "


def _draw_proven(page: Page, report: Report) -> None:
    """Add what was proven, and what a deeper level would add."""
    passed = f"; {count_with_noun(len(report.passed), 'check')} passed" if report.passed else ""
    deeper = _next_level_text(report)
    page.paragraph(f"{capitalised(_proven_text(report))}{passed}." + (f" {deeper}" if deeper else ""), indent=2)


def _proven_text(report: Report) -> str:
    """Return what was proven, and why not on the other GPUs."""
    left_out = dict.fromkeys(step.detail for row in report.ladder if (step := _omitted_stage(row)))
    return f"{proven_clause(report)} (the rest: {'; '.join(left_out)})" if left_out else proven_clause(report)


def _omitted_stage(row: LadderRow) -> Step | None:
    """Return the stage that shows why a GPU was not asked for: hidden from programs, or left to a virtual machine."""
    driver = next((step for step in row.steps if step.rung == Rung.KERNEL_DRIVER and step.state == RungState.NOT_APPLICABLE), None)
    hidden = next((step for step in row.steps if step.state == RungState.MASKED), None)
    reached = any(step.rung == Rung.LIBCUDA and step.state == RungState.PROVEN for step in row.steps)
    return None if reached else hidden or driver


def _next_level_text(report: Report) -> str:
    """Return what the next level would do; empty if there is none."""
    each = {0: "the CPU", 1: "it"}.get(report.proved_to.gpus, "each")
    if report.policy.level is None or not (report.proved_to.of or report.policy.allow_cpu):
        return ""
    if report.policy.node:
        return f"--level touch would run a kernel on {each}." if report.policy.level == Level.LOOK else ""
    if report.policy.level in {Level.LOOK, Level.TOUCH}:
        return f"--level train would train on {each}."
    return "--level full would also measure speed and all-reduce." if report.policy.level == Level.TRAIN else ""
