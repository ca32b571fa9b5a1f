"""Folds consequences under their causes, by what each rule explains."""

from __future__ import annotations

import msgspec

from gpudoctor.diagnose.engine import RuleRun
from gpudoctor.diagnose.rule import Join
from gpudoctor.findings import Confidence, Finding, Outcome, OutcomeKind, Rung, Severity, Subject, SubjectKind


def _is_joined(cause: Subject, effect: Subject, join: Join) -> bool:
    machine_wide = cause.kind is SubjectKind.MACHINE and effect.kind in {SubjectKind.MACHINE, SubjectKind.GPU}
    if join is Join.MACHINE or (join is Join.GPU and machine_wide):
        return True
    kind = SubjectKind.GPU if join is Join.GPU else SubjectKind.FRAMEWORK
    return cause.kind is effect.kind is kind and cause.key == effect.key


def _explaining_findings(effect: Finding, runs: list[RuleRun]) -> tuple[str, ...]:
    """Return the findings that explain `effect`: at least as severe, and not merely possible."""
    joins = {run.rule.name: row.join for run in runs for row in run.rule.explains if effect.name in row.effects}
    return tuple(
        cause.id
        for run in runs
        if run.rule.name in joins
        for cause in run.findings
        if cause.severity >= effect.severity
        and cause.confidence > Confidence.POSSIBLE
        and _is_joined(cause.subject, effect.subject, joins[run.rule.name])
    )


def _severity_order(finding: Finding) -> tuple[int, int, int, str]:
    return (-finding.severity.position, -finding.confidence.position, finding.breaks.position, finding.id)


def explained_findings(runs: list[RuleRun], doubted: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Return all findings, each with what explains it: root causes first, by severity, confidence, lowest stage and code; the doubted ones last."""
    found = tuple(finding for run in runs for finding in run.findings)
    guilty = [run for run in runs if run.findings]
    explained = (msgspec.structs.replace(finding, because_of=_explaining_findings(finding, guilty)) for finding in found)
    return tuple(sorted(explained, key=lambda finding: (bool(finding.because_of), finding.name in doubted, *_severity_order(finding))))


def _concerns_subject(cause: Subject, other: Subject) -> bool:
    return cause.kind in {SubjectKind.MACHINE, SubjectKind.ENVIRONMENT} or cause == other


def explained_outcome(run: RuleRun, findings: tuple[Finding, ...]) -> Outcome:
    """Return the outcome of a run; if a broken lower stage is why it could not tell, with the finding that says so."""
    if run.outcome.kind is not OutcomeKind.COULD_NOT_TELL or run.lacking is None:
        return run.outcome
    return msgspec.structs.replace(run.outcome, because_of=tuple(_findings_breaking(run.lacking, run.outcome.subject, findings)))


def _findings_breaking(rung: Rung, subject: Subject, findings: tuple[Finding, ...]) -> list[str]:
    return [
        finding.id
        for finding in findings
        if finding.severity is Severity.ERROR
        and finding.confidence > Confidence.POSSIBLE
        and not finding.because_of
        and finding.breaks <= rung
        and _concerns_subject(finding.subject, subject)
    ]
