"""How a report ends: what was verified, which environment was examined, by which program, and where to read more."""

from __future__ import annotations

from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report.headline import stop_signal
from gpudoctor.report.model import Recognised, Recognition, Report
from gpudoctor.report.page import Page


def draw(page: Page, report: Report) -> None:
    """Add the section."""
    page.gap()
    for lead, text in _labelled_lines(page, report):
        page.paragraph(text, f"{lead}: ", lead_style="bold", style="dim", hang=2)


def _labelled_lines(page: Page, report: Report) -> list[tuple[str, str]]:
    lines = [] if report.verdict == Verdict.READY else [_verified_line(report)]
    if not report.is_assumed:
        lines.append(("Examined", _environment_text(report)))
    lines.append(("Tool", _program_text(report)))
    lines += [("Read", reading) for reading in recognition_lines(report.recognised)]
    lines += [("Note", remark) for remark in report.snapshot.remarks]
    if report.skipped:
        names = (f"{rule.code} {rule.name}" + (f" ({rule.reason})" if rule.reason else "") for rule in report.skipped)
        lines.append(("Skipped", ", ".join(names)))
    more = [f"gpudoctor explain {report.causes[0].code} ({report.causes[0].name})"] if report.causes else []
    if page.shortened and not page.look.verbose:
        more.append("-v shows everything")
    return [*lines, ("More", "; ".join(more))] if more else lines


def recognition_lines(recognised: Recognised | None) -> list[str]:
    """Return what was recognised in a pasted text, and how much was not."""
    if recognised is None:
        return []
    lines = [
        f"{count_with_noun(recognition.facts, 'fact')} from {recognition.reader} ({_line_range(recognition)})"
        for recognition in recognised.formats
    ]
    unused = recognised.lines - recognised.used
    return [*lines, f"{unused} of {count_with_noun(recognised.lines, 'line')} had nothing that gpudoctor knows"] if unused > 0 else lines


def _line_range(recognition: Recognition) -> str:
    lines = f"line {recognition.first}" if recognition.first == recognition.last else f"lines {recognition.first} to {recognition.last}"
    return f"{recognition.file} {lines}".lstrip()


def _verified_line(report: Report) -> tuple[str, str]:
    proven = report.proved_to.text if report.proved_to.rung else ""
    passed = f"{count_with_noun(len(report.passed), 'check')} passed" if report.passed else ""
    return "Verified", "; ".join(filter(None, (proven, passed))) or "nothing"


def _environment_text(report: Report) -> str:
    examined = report.examined
    told = not examined.python and examined.why in report.because and not stop_signal(report)  # in the headline
    why = "" if told else f" ({examined.why})"
    python = f"{examined.python or 'no Python'}{why}"
    return python + (f", as {examined.user}" if examined.user else "")


def _program_text(report: Report) -> str:
    """Return the program and its tables."""
    return f"gpudoctor {report.tool.version}, " + (f"compatibility tables of {report.matrix.date}" if report.matrix.date else "no tables")
