"""The root causes and notes of a gpudoctor report in a pasted text: it saw the machine, so they stand."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.diagnose.engine import RuleRun, finding_of_problem
from gpudoctor.diagnose.rule import Rule
from gpudoctor.findings import MACHINE, Confidence, Evidence, Outcome, OutcomeKind, Problem, Severity
from gpudoctor.snapshot import Reported


def runs_with_reported(runs: Sequence[RuleRun], machine: MachineView, rules: Sequence[Rule]) -> list[RuleRun]:
    """Return the runs, and in place of what rules say of a cause or a note, what a report says of it, unless they agree."""
    mildest_first = sorted(machine.log.reported, key=lambda one: Severity(one.severity))
    told = {one.code: one for one in mildest_first}
    found = {(finding.code, finding.severity) for run in runs for finding in run.findings}
    told = {code: one for code, one in told.items() if (code, Severity(one.severity)) not in found}
    others = [msgspec.structs.replace(run, findings=(), only_for=()) if run.rule.code in told else run for run in runs]
    return [*others, *(_run_of_report(rule, told[rule.code], machine) for rule in rules if rule.code in told)]


def _run_of_report(rule: Rule, one: Reported, machine: MachineView) -> RuleRun:
    problem = Problem(
        message=one.message,
        evidence=(Evidence("gpudoctor report", one.code, one.where),),
        fixes=(read_page(rule.name),),
        severity=Severity(one.severity),
        confidence=Confidence(one.confidence),
        subject=MACHINE,
    )
    outcome = Outcome(code=rule.code, name=rule.name, subject=MACHINE, kind=OutcomeKind.FOUND)
    return RuleRun(rule, outcome, (finding_of_problem(rule, MACHINE, problem, 0, machine),), None, ("",))
