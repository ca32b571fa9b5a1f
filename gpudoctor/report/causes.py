"""The root causes on a page, each with its fixes, its evidence and what it explains; then the notes."""

from __future__ import annotations

from gpudoctor.findings import FixKind, Impact
from gpudoctor.report import gpus, groups
from gpudoctor.report.fixes import FixStep, fix_steps
from gpudoctor.report.groups import GroupedFinding
from gpudoctor.report.headline import headline_of_report
from gpudoctor.report.model import Finding, Report
from gpudoctor.report.page import Page
from gpudoctor.report.words import SEVERITY_STYLES

_MAX_EVIDENCE = 3
"""Observations that a short report shows of a finding, a line each."""
_EVIDENCE_LEAD = "Evidence: "


def draw(page: Page, report: Report, *, told: bool) -> None:
    """Add every root cause; the message of the first is in the headline if it was `told` there."""
    for number, group in enumerate(groups.grouped_causes(report)):
        if number or not headline_of_report(report).code:
            page.gap()
            _draw_heading(page, report, group)
        elif not told:
            page.paragraph(groups.group_message(report, group))
        _draw_details(page, report, group)


def draw_notes(page: Page, report: Report) -> None:
    """Add the notes: what they say, and in a full report what to do."""
    for number, group in enumerate(groups.grouped_notes(report)):
        if not number or page.look.verbose:
            page.gap()
        _draw_heading(page, report, group)
        if page.look.verbose:
            _draw_details(page, report, group)
        elif group.first.fixes:
            page.shortened = True


def _draw_heading(page: Page, report: Report, group: GroupedFinding) -> None:
    first = group.first
    doubt = first.doubt
    cost = first.impact if first.impact in {Impact.SLOWER, Impact.AT_RISK} else ""
    aside = f" ({', '.join(filter(None, (doubt, cost)))})" if doubt or cost else ""
    style = SEVERITY_STYLES.get(first.severity, "bold")
    page.paragraph(groups.group_message(report, group), f"{first.severity} {first.code}{aside}: ", lead_style=style, hang=2)


def _draw_details(page: Page, report: Report, group: GroupedFinding) -> None:
    page.shortened |= bool(group.others)
    for other in group.others if page.look.verbose else ():
        page.paragraph(other.message, indent=2)
    for step in fix_steps(group):
        _draw_step(page, report, step)
    _draw_evidence(page, group)
    _draw_explained(page, report, {finding.id for finding in group.findings})


def _draw_step(page: Page, report: Report, step: FixStep) -> None:
    page.paragraph(step.title, f"{step.lead}: ", lead_style="bold green", hang=2)
    for command in _shown_commands(page, step):
        page.command(command, indent=4)
    if step.verify and not report.is_assumed:
        page.paragraph("", "Verify:", lead_style="bold green")
        page.command(step.verify, indent=4)


def _shown_commands(page: Page, step: FixStep) -> tuple[str, ...]:
    """Return the commands of a step; in a short report a check of one GPU stands for those of the others."""
    if step.kind != FixKind.CHECK or len(step.commands) < 2 or page.look.verbose:
        return step.commands
    page.shortened = True
    return step.commands[:1]


def _draw_evidence(page: Page, group: GroupedFinding) -> None:
    """Add what was seen: a line each of the first GPU, or everything of every GPU."""
    every = tuple(dict.fromkeys(seen for finding in group.findings for seen in finding.evidence))
    shown = every if page.look.verbose else group.first.evidence[:_MAX_EVIDENCE]
    page.shortened |= len(shown) < len(every)
    for number, seen in enumerate(shown):
        text = f"{'' if number else _EVIDENCE_LEAD}{seen.what} = {seen.value}" + (f"  [{seen.where}]" if seen.where else "")
        indent = len(_EVIDENCE_LEAD) if number else 0
        if page.look.verbose:
            page.paragraph(text, style="dim", indent=indent, hang=len(_EVIDENCE_LEAD) + 2 - indent)
        else:
            page.cut(text, indent=indent, style="dim")


def _draw_explained(page: Page, report: Report, causes: set[str]) -> None:
    """Add what follows from `causes`, directly or not."""
    following: dict[str, list[Finding]] = {}
    reached = set(causes)
    while new := [item for item in report.findings if item.id not in reached and reached.intersection(item.because_of)]:
        reached.update(item.id for item in new)
        for item in new:
            following.setdefault(item.code, []).append(item)
    if not following:
        return
    named = {code: f"{code} {items[0].name}" for code, items in following.items()}
    page.paragraph(", ".join(named.values()), "Also explains: ", style="dim", hang=2)
    for code, items in following.items() if page.look.verbose else ():
        for message in dict.fromkeys(item.message for item in items):
            about = gpus.subject_names(report, (item for item in items if item.message == message))
            page.paragraph(message, f"{named[code]}{f' ({about})' if about else ''}: ", style="dim", indent=2, hang=2)
