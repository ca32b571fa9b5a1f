"""Runs rules over subjects: every rule and subject has an outcome, and a crash in one hides no other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import msgspec

from gpudoctor.derive import CouldNotTell, MachineView, NotApplicable
from gpudoctor.diagnose import verify
from gpudoctor.diagnose.action import action_of
from gpudoctor.diagnose.advice.packages import VENV
from gpudoctor.diagnose.rule import AnyView, Rule
from gpudoctor.findings import (
    MACHINE,
    Confidence,
    Finding,
    Fix,
    FixKind,
    Impact,
    Outcome,
    OutcomeKind,
    Problem,
    Rung,
    Severity,
    Subject,
    SubjectKind,
)
from gpudoctor.snapshot import Missing, Pci, is_absent, is_unasked


class RuleRun(msgspec.Struct, frozen=True):
    """What one rule found for one subject, and the stage whose failure explains why it could not tell."""

    rule: Rule
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    lacking: Rung | None = None
    only_for: tuple[str, ...] = ()
    """For each finding the only framework that it affects, or nothing."""

    @property
    def failing_frameworks(self) -> Iterator[str]:
        """The frameworks that have an error of their own."""
        for finding, name in zip(self.findings, self.only_for, strict=True):
            if finding.severity is Severity.ERROR:
                yield name or (finding.subject.key if finding.subject.kind is SubjectKind.FRAMEWORK else "")


def run_rules(rules: tuple[Rule, ...], machine: MachineView) -> list[RuleRun]:
    """Return a run of every rule for every subject of its kind, with final severities."""
    return downgraded_runs(run_each_rule(rules, machine), machine)


def run_each_rule(rules: tuple[Rule, ...], machine: MachineView) -> list[RuleRun]:
    """Return a run of every rule for every subject of its kind; one run if our code crashes on finding its subjects."""
    return [run for rule in rules for run in _runs_of_rule(rule, machine)]


def _runs_of_rule(rule: Rule, machine: MachineView) -> list[RuleRun]:
    try:
        views = [(view, view.subject) for view in _subject_views(rule, machine)]
    except Exception as error:  # noqa: BLE001 -- as in _run
        return [RuleRun(rule, _outcome_of_rule(rule, MACHINE, OutcomeKind.CRASHED, f"{type(error).__name__}: {error}"))]
    return [_run_rule(rule, view, subject, machine) for view, subject in views]


def downgraded_runs(runs: list[RuleRun], machine: MachineView) -> list[RuleRun]:
    """Return the runs; errors of one framework become warnings if another framework can train."""
    failing = frozenset(name for run in runs for name in run.failing_frameworks)
    return [_downgraded_run(run, failing, machine) for run in runs]


def _outcome_of_rule(rule: Rule, subject: Subject, kind: OutcomeKind, reason: str, cause: str = "") -> Outcome:
    return Outcome(code=rule.code, name=rule.name, subject=subject, kind=kind, reason=reason, cause=cause)


def _downgraded_run(run: RuleRun, failing: frozenset[str], machine: MachineView) -> RuleRun:
    """Return the run; an error of one framework becomes a warning if another framework can train."""
    findings = list(run.findings)
    for place, name in enumerate(run.only_for):
        if name and findings[place].severity is Severity.ERROR and machine.another_can_train(name, failing):
            findings[place] = msgspec.structs.replace(findings[place], severity=Severity.WARNING, impact=Impact.PARTLY)
    return msgspec.structs.replace(run, findings=tuple(findings))


def _subject_views(rule: Rule, machine: MachineView) -> Sequence[AnyView]:
    """Return a view of each subject of a rule's kind."""
    if rule.about is SubjectKind.GPU:
        return machine.gpus
    if rule.about is SubjectKind.FRAMEWORK:
        return machine.frameworks
    return (machine.environment if rule.about is SubjectKind.ENVIRONMENT else machine,)


def _run_rule(rule: Rule, view: AnyView, subject: Subject, machine: MachineView) -> RuleRun:
    problems: list[Problem] = []
    findings: list[Finding] = []
    kind, reason, cause, lacking = OutcomeKind.PASSED, "", "", None
    try:
        for problem in rule.body(view):
            findings.append(finding_of_problem(rule, subject, problem, len(findings), machine))
            problems.append(problem)  # what was found before an unknown or a crash stays
    except CouldNotTell as ignorance:
        kind = _kind_of_ignorance(ignorance, machine)
        reason, cause, lacking = ignorance.missing.reason, ignorance.missing.cause.value, ignorance.rung
    except NotApplicable as nothing:
        kind, reason = OutcomeKind.NOT_APPLICABLE, str(nothing)
    except Exception as error:  # noqa: BLE001 -- a defect of one rule must not hide what the others found
        kind, reason = OutcomeKind.CRASHED, f"{type(error).__name__}: {error}"
    if findings and kind is not OutcomeKind.CRASHED:
        kind = OutcomeKind.FOUND
    only_for = tuple(problem.only_for for problem in problems)
    return RuleRun(rule, _outcome_of_rule(rule, subject, kind, reason, cause), tuple(findings), lacking, only_for)


def _kind_of_ignorance(ignorance: CouldNotTell, machine: MachineView) -> OutcomeKind:
    """Return the outcome of not knowing; a driver that is absent on a machine without a GPU is not applicable."""
    if is_unasked(ignorance.missing):
        return OutcomeKind.NOT_ASKED
    nothing_to_drive = not machine.hardware and machine.site.has_pci and isinstance(machine.observed.pci, Pci)
    if is_absent(ignorance.missing) and ignorance.rung is not None and nothing_to_drive:
        return OutcomeKind.NOT_APPLICABLE
    return OutcomeKind.COULD_NOT_TELL


def finding_of_problem(rule: Rule, subject: Subject, problem: Problem, number: int, machine: MachineView) -> Finding:
    """Return the finding that a rule's problem makes, with its severity, its action and how to verify its fixes."""
    severity, message = problem.severity or rule.severity, problem.message
    subject = problem.subject or subject
    if severity > Severity.NOTE and rule.predicts and _is_disproved(rule, subject, machine):
        severity = Severity.NOTE
        message = f"{message.rstrip('.')}; {_working_stage(rule, subject)} anyway."
    place = f":{subject.key}" if subject.key else ""
    alone = severity is Severity.ERROR and problem.only_for and len(machine.frameworks) > 1
    fixes = problem.fixes or (rule.advice(machine) if rule.advice else ())
    again = functools.partial(
        verify.verify_command, rule, Severity.WARNING if alone else severity, machine
    )  # a warning beside one that works
    return Finding(
        id=f"{rule.code}{place}" + (f"#{number + 1}" if number else ""),
        code=rule.code,
        name=rule.name,
        subject=subject,
        severity=severity,
        confidence=_capped_confidence(problem, subject, machine),
        title=problem.title or rule.title,
        message=message,
        breaks=rule.breaks,
        impact=_impact(rule, severity, problem.impact),
        evidence=problem.evidence,
        fixes=_fixes_with_verification([_fix_for_environment(fix, machine) for fix in fixes], again),
        action=action_of(fixes, machine.site),
        domain=problem.domain or rule.lies_in,
    )


def _capped_confidence(problem: Problem, subject: Subject, machine: MachineView) -> Confidence:
    """Return how sure a problem is: what is said of a framework's build that was only assumed is at most likely."""
    views = machine.frameworks if subject.kind is SubjectKind.FRAMEWORK else ()
    cudas = (view.cuda_or_missing for view in views if view.name == subject.key)
    assumed = any(not isinstance(cuda, Missing) and cuda.assumed for cuda in cudas)
    return min(problem.confidence, Confidence.LIKELY) if assumed else problem.confidence


def _impact(rule: Rule, severity: Severity, told: Impact | None) -> Impact:
    """Return what a finding of `rule` costs; of a warning, what was `told` of it goes first."""
    if severity is Severity.NOTE:
        return Impact.NONE
    if severity is Severity.ERROR:
        return Impact.REQUIREMENT if rule.checks_required and told is not Impact.CANNOT_TRAIN else Impact.CANNOT_TRAIN
    return told or rule.impact or Impact.PARTLY


_CHECK_COMMAND = "gpudoctor check"
"""A command whose own exit code verifies the fix."""


def _fixes_with_verification(fixes: Sequence[Fix], again: Callable[[str], str]) -> tuple[Fix, ...]:
    """Return the fixes with the command that verifies them: after the last step, and after each alternative."""
    steps = [number for number, fix in enumerate(fixes) if fix.kind is FixKind.FIX]
    early = {FixKind.CHECK: range(len(fixes)), FixKind.FIX: steps[:-1]}
    return tuple(
        fix
        if fix.verify or fix.command.startswith(_CHECK_COMMAND) or number in early.get(fix.kind, ())
        else msgspec.structs.replace(fix, verify=again(VENV if VENV in fix.command else ""))
        for number, fix in enumerate(fixes)
    )


def _fix_for_environment(fix: Fix, machine: MachineView) -> Fix:
    """Return the fix; where it runs gpudoctor again, it examines the same environment."""
    return msgspec.structs.replace(
        fix, command=verify.completed_command(fix.command, machine), verify=verify.completed_command(fix.verify, machine)
    )


_WORKING_STAGES = {Rung.LIBCUDA: "CUDA initialised", Rung.KERNEL_RAN: "a kernel ran", Rung.FRAMEWORK: "a framework lists the GPU"}
"""What was seen to work of each stage; training above them."""


def _working_stage(rule: Rule, subject: Subject) -> str:
    """Return what worked that a rule predicts to fail."""
    return (
        "training worked"
        if subject.kind is SubjectKind.FRAMEWORK
        else _WORKING_STAGES.get(max(rule.breaks, Rung.LIBCUDA), "training worked")
    )


def _is_disproved(rule: Rule, subject: Subject, machine: MachineView) -> bool:
    """Whether what a rule predicts to fail has worked for the same subject.

    Only a stage that a program passed counts: an existing file or a bound module may still not work.
    """
    climbed = max(rule.breaks, Rung.LIBCUDA)
    if subject.kind is SubjectKind.GPU:
        return machine.ladder.proven(subject.key, climbed)
    if subject.kind is SubjectKind.FRAMEWORK:
        return machine.trains(subject.key, on_cpu=rule.on_cpu_too or not machine.gpus)
    return machine.ladder.is_proven_anywhere(climbed)
