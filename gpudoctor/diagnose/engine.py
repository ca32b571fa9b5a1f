"""Runs rules over subjects: every rule and subject has an outcome, and a crash in one hides no other."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Facts
from gpudoctor.diagnose.provide import About, argument
from gpudoctor.diagnose.rule import CouldNotTell, NotApplicable, Rule, parameters
from gpudoctor.findings import Finding, Outcome, OutcomeKind, Problem, Rung, Severity, Subject, SubjectKind
from gpudoctor.snapshot import Cause, Pci


class Run(msgspec.Struct, frozen=True):
    """What one rule said of one subject, and the rung whose failure explains where it could not tell."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    lacking: Rung | None = None


def run_all(rules: tuple[Rule, ...], facts: Facts) -> list[Run]:
    """Every rule for every subject of its kind."""
    return [_run(rule, about, facts) for rule in rules for about in _subjects(rule, facts)]


def _subjects(rule: Rule, facts: Facts) -> Iterator[About]:
    if rule.about is SubjectKind.GPU:
        yield from facts.hardware
    elif rule.about is SubjectKind.FRAMEWORK:
        yield from facts.frameworks
    else:
        yield None


def _subject(rule: Rule, about: About) -> Subject:
    if rule.about is SubjectKind.GPU:
        return Subject(rule.about, getattr(about, "key", ""))
    return Subject(rule.about, getattr(about, "name", ""))


def _run(rule: Rule, about: About, facts: Facts) -> Run:
    subject = _subject(rule, about)
    problems: list[Problem] = []
    kind, reason, lacking = OutcomeKind.PASSED, "", None
    try:
        arguments = {parameter.name: argument(parameter, facts, about) for parameter in parameters(rule.body)}
        for problem in rule.body(**arguments):
            problems.append(problem)  # noqa: PERF402 -- what was found before an unknown or a crash stays
    except CouldNotTell as ignorance:
        kind = _ignorance(ignorance, facts)
        reason, lacking = ignorance.missing.reason, ignorance.rung
    except NotApplicable as nothing:
        kind, reason = OutcomeKind.NOT_APPLICABLE, str(nothing)
    except Exception as error:  # noqa: BLE001 -- a defect of one rule must not hide what the others found
        kind, reason = OutcomeKind.CRASHED, f"{type(error).__name__}: {error}"
    findings = tuple(_stamp(rule, subject, problem, number, facts) for number, problem in enumerate(problems))
    if findings and kind is not OutcomeKind.CRASHED:
        kind = OutcomeKind.FOUND
    return Run(Outcome(code=rule.code, name=rule.name, subject=subject, kind=kind, reason=reason), findings, lacking)


def _ignorance(ignorance: CouldNotTell, facts: Facts) -> OutcomeKind:
    """What not knowing comes to: nobody asked, or nothing could be seen; a driver that is absent where there is no GPU is neither."""
    cause = ignorance.missing.cause
    if cause in {Cause.NOT_ASKED, Cause.NOT_STATED}:
        return OutcomeKind.NOT_ASKED
    nothing_to_drive = not facts.hardware and facts.site.has_pci and isinstance(facts.snapshot.pci, Pci)
    if cause is Cause.ABSENT and ignorance.rung is not None and nothing_to_drive:
        return OutcomeKind.NOT_APPLICABLE
    return OutcomeKind.COULD_NOT_TELL


def _stamp(rule: Rule, subject: Subject, problem: Problem, number: int, facts: Facts) -> Finding:
    severity = problem.severity or rule.severity
    if rule.predicts and _refuted(subject, rule.breaks, facts):
        severity = Severity.NOTE
    place = f":{subject.key}" if subject.key else ""
    return Finding(
        id=f"{rule.code}{place}" + (f"#{number + 1}" if number else ""),
        code=rule.code,
        name=rule.name,
        subject=subject,
        severity=severity,
        confidence=problem.confidence,
        title=problem.title or rule.title,
        message=problem.message,
        breaks=rule.breaks,
        evidence=problem.evidence,
        fixes=problem.fixes,
    )


def _refuted(subject: Subject, breaks: Rung, facts: Facts) -> bool:
    """Whether what a rule predicts to fail was seen to work for the same subject.

    Only a rung that a program climbed counts: that a file is there, or a module bound, does not show that it works.
    """
    climbed = max(breaks, Rung.LIBCUDA)
    if subject.kind is SubjectKind.GPU:
        return facts.ladder.proven(subject.key, climbed)
    if subject.kind is SubjectKind.FRAMEWORK:
        return facts.trains(subject.key)
    return facts.ladder.on_some_gpu(climbed)
