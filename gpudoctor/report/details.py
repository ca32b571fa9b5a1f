"""How a report ends: what was verified, which environment was examined, by which program, and where to read more."""

from __future__ import annotations

from gpudoctor.findings import Verdict
from gpudoctor.findings.naming import counted
from gpudoctor.report.headline import stopped_by
from gpudoctor.report.model import Recognised, Recognition, Report
from gpudoctor.report.page import Page


def draw(page: Page, report: Report) -> None:
    """Add the section."""
    page.gap()
    for lead, text in _lines(page, report):
        page.paragraph(text, f"{lead}: ", lead_style="bold", style="dim", hang=2)


def _lines(page: Page, report: Report) -> list[tuple[str, str]]:
    lines = [] if report.verdict == Verdict.READY else [_verified(report)]
    if not report.is_supposed:
        lines.append(("Examined", _environment(report)))
    lines.append(("Tool", _program(report)))
    lines += [("Read", reading) for reading in readings(report.recognised)]
    lines += [("Note", remark) for remark in report.snapshot.remarks]
    if report.skipped:
        names = (f"{rule.code} {rule.name}" + (f" ({rule.reason})" if rule.reason else "") for rule in report.skipped)
        lines.append(("Skipped", ", ".join(names)))
    more = [f"gpudoctor explain {report.causes[0].code} ({report.causes[0].name})"] if report.causes else []
    if page.shortened and not page.look.verbose:
        more.append("-v shows everything")
    return [*lines, ("More", "; ".join(more))] if more else lines


def readings(recognised: Recognised | None) -> list[str]:
    """Return what was recognised in a pasted text, and how much was not."""
    if recognised is None:
        return []
    lines = [f"{counted(recognition.facts, 'fact')} from {recognition.reader} ({_span(recognition)})" for recognition in recognised.formats]
    unused = recognised.lines - recognised.used
    return [*lines, f"{unused} of {counted(recognised.lines, 'line')} had nothing that gpudoctor knows"] if unused > 0 else lines


def _span(recognition: Recognition) -> str:
    lines = f"line {recognition.first}" if recognition.first == recognition.last else f"lines {recognition.first} to {recognition.last}"
    return f"{recognition.file} {lines}".lstrip()


def _verified(report: Report) -> tuple[str, str]:
    proven = report.proved_to.text if report.proved_to.rung else ""
    passed = f"{counted(len(report.passed), 'check')} passed" if report.passed else ""
    return "Verified", "; ".join(filter(None, (proven, passed))) or "nothing"


def _environment(report: Report) -> str:
    examined = report.examined
    told = not examined.python and examined.why in report.because and not stopped_by(report)  # in the headline
    why = "" if told else f" ({examined.why})"
    python = f"{examined.python or 'no Python'}{why}"
    return python + (f", as {examined.user}" if examined.user else "")


def _program(report: Report) -> str:
    """Return the program and its tables."""
    return f"gpudoctor {report.tool.version}, " + (f"compatibility tables of {report.matrix.date}" if report.matrix.date else "no tables")
