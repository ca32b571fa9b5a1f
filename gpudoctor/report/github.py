"""The report as annotations of GitHub Actions: a workflow command for each root cause and note, then the verdict in one line.

GitHub shows ten errors and ten warnings of a step (https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations), so findings
that differ only in the GPU share an annotation, the gravest come first, and the log holds the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.findings import FixKind, Severity
from gpudoctor.report import gpus, oneline, words
from gpudoctor.report.model import Finding, Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}
"""How a value is escaped: https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts"""


def render(report: Report) -> str:
    """Return the lines to print to the log of a step.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in report.findings:
        if not finding.because_of:
            groups.setdefault((finding.code, finding.severity, finding.message, finding.fixes), []).append(finding)
    lines = [_finding(report, group) for group in groups.values()]
    if not any(_fails(report, finding) for finding in report.causes) and (report.exit_code or not report.causes):
        lines.insert(0, _verdict(report))
    return "\n".join((*lines, words.printable(oneline.render(report), plain=False), ""))


def _finding(report: Report, group: list[Finding]) -> str:
    first, about = group[0], gpus.subjects(report, (finding.subject for finding in group))
    severity = Severity.ERROR if _fails(report, first) else Severity(first.severity)
    title = f"{first.code} {first.title}" + (f" ({about})" if about else "")
    return _command(_COMMANDS[severity], title, "\n".join(_message(first)))


def _fails(report: Report, finding: Finding) -> bool:
    """Whether a finding is why the step fails."""
    return bool(report.exit_code) and Severity(finding.severity) >= report.policy.fail_on


def _message(finding: Finding) -> Iterator[str]:
    yield words.printable(finding.message, plain=False)
    for fix in finding.fixes:
        if fix.kind == FixKind.FIX:
            yield words.printable(f"Fix: {fix.title}" + (f": {fix.command}" if fix.command else ""), plain=False)
    yield finding.url


def _verdict(report: Report) -> str:
    """Return the annotation that says why the step fails or succeeds where no finding does."""
    kind = "error" if report.exit_code else "notice"
    return _command(kind, f"gpudoctor: {report.verdict}", words.printable(report.because or report.proved_to.text, plain=False))


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_escaped(words.printable(title, plain=False), _PROPERTY)}::{_escaped(message, _DATA)}"


def _escaped(value: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in value)
