"""The report for a person: the verdict and its cause, the ladder, what to paste, what was not checked, what was proven."""

from __future__ import annotations

import msgspec

from gpudoctor.findings import Confidence, FixKind, Rung, Severity, Verdict
from gpudoctor.report import gpus, supposed, training
from gpudoctor.report.model import CouldNotTell, Evidence, Finding, Fix, Report
from gpudoctor.report.page import Look, Page
from gpudoctor.report.words import FIXES, SEVERITIES, VERDICTS, counted, upper_first


def render(report: Report, look: Look | None = None) -> str:
    """`report` as text that ends with a newline; one line where all is well and there is nothing to add."""
    page = Page(look or Look())
    _verdict(page, report)
    if supposed.is_supposed(report):
        supposed.draw(page, report)
        _findings(page, report)
        _untold(page, report)
        _closing(page, report)
    elif report.command == "smoke":
        training.draw(page, report.snapshot)
        _trained(page, report)
    elif report.verdict != Verdict.READY:
        gpus.draw(page, report)
        _findings(page, report)
        _untold(page, report)
        _closing(page, report)
    else:
        _asides(page, report)
    return page.render()


def _verdict(page: Page, report: Report) -> None:
    mark = VERDICTS.get(report.verdict)
    sign = "" if mark is None else f"{mark.ascii if page.look.plain else mark.sign} "
    unjudged = report.verdict == Verdict.UNKNOWN and bool(report.not_judged)
    headline = report.because if unjudged else _answer(report)
    page.paragraph(headline, f"{sign}{report.verdict.upper()}: ", lead_style=mark.style if mark else "", hang=2)
    if report.verdict == Verdict.UNKNOWN and report.because and not unjudged:
        page.paragraph(f"{report.because}.", indent=2)
    for code, name, title in dict.fromkeys((finding.code, finding.name, finding.title) for finding in report.causes):
        page.paragraph(title, f"{code} {name}: ", lead_style="bold", indent=2, hang=2)


def _trained(page: Page, report: Report) -> None:
    """What follows the numbers of a training."""
    if report.verdict == Verdict.READY:
        page.gap()
        _asides(page, report)
        page.gap()
        _scope(page, report, _tables(report))
    else:
        _findings(page, report)
        _untold(page, report)
        _closing(page, report)


def _answer(report: Report) -> str:
    mark = VERDICTS.get(report.verdict)
    proved = report.proved_to
    if supposed.is_supposed(report):
        return supposed.ANSWERS.get(report.verdict, "")
    if report.verdict == Verdict.READY:
        untrained = report.policy.level is not None and proved.rung != Rung.TRAINED
        return proved.text + (f"; nothing was trained (--level {report.policy.level})" if untrained else "")
    if report.verdict == Verdict.BROKEN and proved.gpus and proved.rung == Rung.TRAINED:
        return f"{proved.text}, but not all is well"
    if report.verdict == Verdict.BROKEN and report.causes and all(cause.subject.kind == "gpu" for cause in report.causes) and proved.gpus:
        lost = len({cause.subject.key for cause in report.causes})
        return f"{lost} of {counted(proved.of, 'GPU')} cannot be used"
    return mark.word if mark else ""


def _findings(page: Page, report: Report) -> None:
    if not report.findings:
        return
    roots = [finding for finding in report.findings if not finding.because_of]
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in roots:
        groups.setdefault((finding.code, finding.severity, finding.message, finding.fixes), []).append(finding)
    for group in groups.values():
        page.gap()
        _finding(page, report, group)


def _finding(page: Page, report: Report, group: list[Finding]) -> None:
    finding = group[0]
    about = gpus.subjects(report, (item.subject for item in group))
    doubt = "" if finding.confidence == Confidence.CERTAIN else f", {finding.confidence}"
    where = f" ({about})" if about else ""
    style = SEVERITIES.get(finding.severity, "bold")
    page.paragraph(where, f"{finding.severity}{doubt}: {finding.code} {finding.name}", lead_style=style, hang=2)
    page.paragraph(finding.message, indent=2)
    for seen in finding.evidence:
        page.paragraph(_seen(seen), "seen: ", lead_style="dim", indent=2, hang=6)
    steps = 0
    for fix in finding.fixes:
        shown = msgspec.structs.replace(fix, verify="") if supposed.is_supposed(report) else fix
        steps += fix.kind == FixKind.FIX
        _fix(page, shown, "Then: " if fix.kind == FixKind.FIX and steps > 1 else FIXES.get(fix.kind, "Fix: "))
    _consequences(page, report, {item.id for item in group})


def _seen(seen: Evidence) -> str:
    return f"{seen.what} = {seen.value}" + (f"  [{seen.where}]" if seen.where else "")


def _fix(page: Page, fix: Fix, lead: str) -> None:
    needs = f" (needs {', '.join(fix.needs)})" if fix.needs else ""
    page.paragraph(f"{fix.title.rstrip('.')}{needs}{':' if fix.command else '.'}", lead, lead_style="bold green", indent=2, hang=2)
    page.command(fix.command, indent=6)
    if fix.verify:
        page.paragraph("Verify:", indent=4)
        page.command(fix.verify, indent=6)


def _consequences(page: Page, report: Report, causes: set[str]) -> None:
    """What follows from `causes`, directly or not, one line for each code."""
    following: dict[str, list[Finding]] = {}
    reached = set(causes)
    while new := [item for item in report.findings if item.id not in reached and reached.intersection(item.because_of)]:
        reached.update(item.id for item in new)
        for item in new:
            following.setdefault(item.code, []).append(item)
    if following:
        page.paragraph("This also explains:", indent=2)
    for code, items in following.items():
        about = gpus.subjects(report, (item.subject for item in items))
        page.cut(f"{code} {items[0].name}{f' ({about})' if about else ''}: {items[0].title}", indent=4)


def _untold(page: Page, report: Report) -> None:
    open_ones = [item for item in report.could_not_tell if not item.because_of]
    folded = len(report.could_not_tell) - len(open_ones)
    groups: dict[tuple[str, str, str], list[CouldNotTell]] = {}
    for item in open_ones:
        groups.setdefault((item.code, item.kind, item.reason), []).append(item)
    if groups:
        page.heading("Not checked")
    for items in groups.values():
        first = items[0]
        about = gpus.subjects(report, (item.subject for item in items))
        crash = "a defect of gpudoctor, please report it: " if first.kind == "crashed" else ""
        lead = f"{first.code} {first.name}{f' ({about})' if about else ''}: "
        page.paragraph(f"{crash}{first.reason}", lead, indent=2, hang=2)
    if folded:
        if not groups:
            page.gap()
        page.paragraph(f"{counted(folded, 'check')} could not be made because of the above.", indent=2 if groups else 0, style="dim")


def _asides(page: Page, report: Report) -> None:
    """What a green report still has to say: one line for each note, one for what was not checked."""
    for finding in report.findings:
        page.paragraph(f"{finding.code} {finding.name}: {finding.title}", "note: ", lead_style=SEVERITIES[Severity.NOTE.value], hang=2)
    for lead, text in _remarks(report):
        page.paragraph(text, f"note: {lead.lower()}", lead_style=SEVERITIES[Severity.NOTE.value], hang=2)
    names = dict.fromkeys(f"{item.code} {item.name}" for item in report.could_not_tell)
    if names:
        page.paragraph(f"not checked: {', '.join(names)}", "note: ", lead_style=SEVERITIES[Severity.NOTE.value], hang=2)


def _remarks(report: Report) -> list[tuple[str, str]]:
    """What is to be said of the check itself, each under its word."""
    said = [("Noted: ", remark) for remark in report.snapshot.remarks]
    names = (f"{rule.code} {rule.name}" + (f" ({rule.reason})" if rule.reason else "") for rule in report.skipped)
    return said + ([("Skipped: ", ", ".join(names))] if report.skipped else [])


def _scope(page: Page, report: Report, tables: str) -> None:
    """What was proven, and of what."""
    passed = f"; {counted(len(report.passed), 'check')} passed" if report.passed else ""
    lead, text = (
        ("Proven: ", report.proved_to.text.removeprefix("proved ")) if report.proved_to.rung else ("", upper_first(report.proved_to.text))
    )
    page.paragraph(f"{text}{passed}", lead, lead_style="bold", hang=2)
    examined = report.examined
    python = f"{examined.python} ({examined.why})" if examined.python else f"no Python ({examined.why})"
    as_whom = f", as {examined.user}" if examined.user else ""
    page.paragraph(f"{python}{as_whom}; {tables}", "Examined: ", lead_style="bold", hang=2)


def _tables(report: Report) -> str:
    """The program and its tables."""
    return f"gpudoctor {report.tool.version}, " + (f"tables of {report.matrix.date}" if report.matrix.date else "no tables")


def _closing(page: Page, report: Report) -> None:
    page.gap()
    tables = _tables(report)
    if supposed.is_supposed(report):
        page.paragraph(f"{counted(len(report.passed), 'check')} passed; {tables}", "Judged: ", lead_style="bold", hang=2)
    else:
        _scope(page, report, tables)
    for lead, text in _remarks(report):
        page.paragraph(text, lead, lead_style="bold", hang=2)
    worst = next((finding for finding in report.findings if finding.severity != Severity.NOTE), None)
    if worst:
        page.paragraph(f"gpudoctor explain {worst.code}", "More: ", lead_style="bold")
