"""The report as annotations of GitHub Actions: a workflow command for each root cause and note, then the verdict in one line.

GitHub shows ten errors and ten warnings of a step (https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations), so findings
that say the same of several GPUs share an annotation, the worst come first, and the log holds the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpudoctor.findings import FixKind, Severity
from gpudoctor.report import gpus, groups, oneline, words
from gpudoctor.report.fixes import fix_steps
from gpudoctor.report.groups import GroupedFinding
from gpudoctor.report.headline import headline_of_report
from gpudoctor.report.model import Finding, Report

_COMMAND_BY_SEVERITY = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_DATA_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = _DATA_ESCAPES | {":": "%3A", ",": "%2C"}
"""How a value is escaped: https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts"""


def render(report: Report) -> str:
    """Return the lines to print to the log of a step.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    lines = [_finding_annotation(report, group) for group in (*groups.grouped_causes(report), *groups.grouped_notes(report))]
    if not any(_is_failing(report, finding) for finding in report.causes) and (report.exit_code or not report.causes):
        lines.insert(0, _verdict_annotation(report))
    return "\n".join((*lines, words.printable_text(oneline.render(report), plain=False), ""))


def _finding_annotation(report: Report, group: GroupedFinding) -> str:
    first, about = group.first, gpus.subject_names(report, group.findings)
    severity = Severity.ERROR if _is_failing(report, first) else Severity(first.severity)
    title = f"{first.code} {first.title}" + (f" ({about})" if about else "")
    fixes = [step.line for step in fix_steps(group) if step.kind == FixKind.FIX]
    return _workflow_command(_COMMAND_BY_SEVERITY[severity], title, (groups.group_message(report, group), *fixes, first.url))


def _is_failing(report: Report, finding: Finding) -> bool:
    """Whether a finding is why the step fails."""
    return bool(report.exit_code) and Severity(finding.severity) >= report.policy.fail_on


def _verdict_annotation(report: Report) -> str:
    """Return the annotation that says why the step fails or succeeds where no finding does."""
    top = headline_of_report(report)
    return _workflow_command("error" if report.exit_code else "notice", f"gpudoctor: {top.mark.word}", (top.text or report.proved_to.text,))


def _workflow_command(kind: str, title: str, lines: Iterable[str]) -> str:
    message = "\n".join(words.printable_text(line, plain=False) for line in lines)
    return f"::{kind} title={_escaped_value(words.printable_text(title, plain=False), _PROPERTY_ESCAPES)}::{_escaped_value(message, _DATA_ESCAPES)}"


def _escaped_value(value: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in value)
