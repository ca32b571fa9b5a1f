"""The first sentence of a report: the verdict, what does not work, and the finding that says why."""

from __future__ import annotations

import signal

import msgspec

from gpudoctor.findings import Impact, Level, Verdict
from gpudoctor.findings.wording import count_with_noun, gpu_name_list
from gpudoctor.report.model import Finding, LadderRow, Report
from gpudoctor.report.words import STOPPED_MARK, VERDICT_MARKS, Mark

_SIGNAL_NAMES = {int(signal.SIGINT): "Ctrl-C"}
"""How a user calls a signal."""


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a headline. The text is a sentence, or a phrase if no finding is behind it."""

    mark: Mark
    code: str = ""
    confidence: str = ""
    scope: str = ""
    text: str = ""


def headline_of_report(report: Report) -> Headline:
    """Return the headline of `report`; that of a ready machine has no text."""
    mark = VERDICT_MARKS.get(report.verdict) or Mark("", "", "bold", report.verdict.upper())
    if report.verdict == Verdict.READY:
        return Headline(mark=mark)
    if stop_signal(report) and report.verdict != Verdict.BROKEN:
        return Headline(mark=STOPPED_MARK, text=f"by {stop_signal(report)} before the check was complete; {report.proved_to.text}")
    if report.verdict == Verdict.UNKNOWN or not report.causes:
        return Headline(mark=mark, text=report.because)
    first = report.causes[0]
    return Headline(mark=mark, code=first.code, confidence=first.doubt, scope=affected_scope(report), text=first.message)


def stop_signal(report: Report) -> str:
    """Return which signal stopped the check; empty if none did."""
    number = report.exit_code - 128
    if number <= 0:
        return ""
    name = signal.Signals(number).name
    return f"{_SIGNAL_NAMES[number]} ({name})" if number in _SIGNAL_NAMES else name


def proven_clause(report: Report) -> str:
    """Return what was proven, as a clause."""
    looked = report.verdict == Verdict.READY and report.proved_to.rung is None and report.policy.level is not None
    return "the machine was read, nothing was run" if looked else report.proved_to.text


def affected_scope(report: Report) -> str:
    """Return what does not work where that is less, or other, than all training; empty if the verdict says it."""
    worst = [cause for cause in report.causes if cause.severity == report.causes[0].severity]
    impact = worst[0].impact
    if all(cause.impact == Impact.REQUIREMENT for cause in worst):
        return Impact.REQUIREMENT.value if len(worst) == 1 else f"{count_with_noun(len(worst), 'requirement')} not met"
    return _affected_gpus(report, worst) if impact == Impact.CANNOT_TRAIN else impact


def _affected_gpus(report: Report, errors: list[Finding]) -> str:
    """Return which GPUs of several cannot train, if the errors are about these alone."""
    keys = {error.subject.key for error in errors}
    lost = [row for row in report.ladder if row.subject.key in keys]
    if any(error.subject.kind != "gpu" for error in errors) or len(lost) != len(keys) or len(lost) == len(report.ladder):
        return ""
    can = sum(_is_passed(report, row) for row in report.ladder if row not in lost)
    every = len(report.ladder)
    numbered = all(row.index is not None for row in lost)
    names = f"{gpu_name_list((row.index, row.subject.key) for row in lost)} of {every}" if numbered else f"{len(lost)} of {every} GPUs"
    return f"{names} cannot train" + (f", {can} can" if can and not report.not_judged else "")


def _is_passed(report: Report, row: LadderRow) -> bool:
    """Whether all that was asked of a GPU was proven."""
    if report.policy.level is None:
        return False
    asked = Level(report.policy.level).required_rung
    return any(step.rung == asked and step.state == "proven" for step in row.steps)
