"""How a report begins: the headline, then the line that sums the machine up."""

from __future__ import annotations

from gpudoctor.findings import Level, Rung, RungState, Verdict
from gpudoctor.findings.naming import counted, joined
from gpudoctor.report import groups
from gpudoctor.report.headline import Headline, headline, proven
from gpudoctor.report.model import LadderRow, Report, Step
from gpudoctor.report.page import Page
from gpudoctor.report.summary import parts
from gpudoctor.report.words import upper_first

_NAMED = 3
"""Packages that a headline names."""
_MOST = 3
"""Lines of a headline; a longer message follows the summary."""


def draw(page: Page, report: Report) -> bool:
    """Add the headline and the summary; return whether the headline holds the message of the first root cause."""
    top = headline(report)
    lead = _lead(page, top)
    if report.verdict == Verdict.READY:
        page.parts(parts(report.summary), lead, lead_style=top.mark.style, hang=2)
        _proven(page, report)
        return False
    group = next(iter(groups.causes(report)), None) if top.code else None
    message = groups.message(report, group) if group else top.text
    told = len(page.wrapped(message, lead, hang=2)) <= _MOST
    instead = f"{group.first.title}." if group else _unverified(report)
    page.paragraph(message if told else instead, lead, lead_style=top.mark.style, hang=2)
    page.parts(parts(report.summary), style="dim", indent=2)
    if not told and not group:
        page.paragraph(f"{upper_first(message)}.")
    return told and group is not None


def _unverified(report: Report) -> str:
    """Return what was not verified, without the reasons."""
    names = list(dict.fromkeys(not_judged.what for not_judged in report.not_judged))
    if not names:
        return "not everything was verified"
    shown = names if len(names) <= _NAMED else [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    return f"not everything was checked: {joined(shown)}"


def _lead(page: Page, top: Headline) -> str:
    """Return the verdict, the code of the finding and what does not work."""
    doubt = f"({top.confidence})" if top.confidence else ""
    words = " ".join(filter(None, (page.sign(top.mark), top.mark.word, top.code, doubt)))
    return f"{words}  {top.scope}: " if top.scope else f"{words}  "


def _proven(page: Page, report: Report) -> None:
    """Add what was proven, and what a deeper level would add."""
    passed = f"; {counted(len(report.passed), 'check')} passed" if report.passed else ""
    deeper = _deeper(report)
    page.paragraph(f"{upper_first(_reached(report))}{passed}." + (f" {deeper}" if deeper else ""), indent=2)


def _reached(report: Report) -> str:
    """Return what was proven, and why not on the other GPUs."""
    left_out = dict.fromkeys(step.detail for row in report.ladder if (step := _left_out(row)))
    return f"{proven(report)} (the rest: {'; '.join(left_out)})" if left_out else proven(report)


def _left_out(row: LadderRow) -> Step | None:
    """Return the stage that shows why a GPU was not asked for: hidden from programs, or left to a virtual machine."""
    driver = next((step for step in row.steps if step.rung == Rung.KERNEL_DRIVER and step.state == RungState.NOT_APPLICABLE), None)
    hidden = next((step for step in row.steps if step.state == RungState.MASKED), None)
    reached = any(step.rung == Rung.LIBCUDA and step.state == RungState.PROVEN for step in row.steps)
    return None if reached else hidden or driver


def _deeper(report: Report) -> str:
    """Return what the next level would do; empty if there is none."""
    each = {0: "the CPU", 1: "it"}.get(report.proved_to.gpus, "each")
    if report.policy.level is None or not (report.proved_to.of or report.policy.allow_cpu):
        return ""
    if report.policy.node:
        return f"--level touch would run a kernel on {each}." if report.policy.level == Level.LOOK else ""
    if report.policy.level in {Level.LOOK, Level.TOUCH}:
        return f"--level train would train on {each}."
    return "--level full would also measure speed and all-reduce." if report.policy.level == Level.TRAIN else ""
