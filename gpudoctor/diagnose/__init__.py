"""The diagnosis: pure rules over what was observed. The same snapshot, matrix and wishes give the same diagnosis, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudoctor.derive import MachineView, proven_scope
from gpudoctor.derive.summary import machine_summary
from gpudoctor.diagnose.causality import explained_findings, explained_outcome
from gpudoctor.diagnose.engine import RuleRun, downgraded_runs, run_each_rule
from gpudoctor.diagnose.reported_findings import runs_with_reported
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rule_choice import choose_rules, skipped_rules
from gpudoctor.diagnose.rule_needs import applicable_rules
from gpudoctor.diagnose.rules import rules_without
from gpudoctor.diagnose.steps import GuardedSteps
from gpudoctor.diagnose.unchecked import unchecked_things
from gpudoctor.diagnose.verdict import exit_code, unproven_clauses, verdict
from gpudoctor.exit_codes import CRASHED
from gpudoctor.findings import Diagnosis, Finding, LadderRow, Outcome, Policy, ProvedTo, Verdict
from gpudoctor.findings.summary import Summary
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot, TextLog

if TYPE_CHECKING:
    from gpudoctor.diagnose.log_reading import LogReading

__all__ = ["Rule", "choose_rules", "crashed_diagnosis", "diagnose", "tables_date"]


def diagnose(snapshot: Snapshot, matrix: Matrix, policy: Policy, rules: tuple[Rule, ...] | None = None) -> Diagnosis:
    """Return what is wrong, why, what follows from it, and what was verified, by these rules, or by every rule.

    Raises UsageError where the policy chooses rules that do not exist, or none.
    """
    steps = GuardedSteps()
    whole = steps(diagnosis_in_steps, None, steps, snapshot, matrix, policy, rules)
    return crashed_diagnosis(tuple(outcome.reason for outcome in steps.crashed), tuple(steps.crashed)) if whole is None else whole


def crashed_diagnosis(unproven: tuple[str, ...], outcomes: tuple[Outcome, ...] = ()) -> Diagnosis:
    """Return the diagnosis where our code crashes: unknown, and why."""
    return Diagnosis(
        verdict=Verdict.UNKNOWN, exit_code=CRASHED, proved_to=NOTHING_PROVEN, findings=(), outcomes=outcomes, ladder=(), unproven=unproven
    )


def diagnosis_in_steps(
    steps: GuardedSteps, snapshot: Snapshot, matrix: Matrix, policy: Policy, rules: tuple[Rule, ...] | None
) -> Diagnosis:
    """Return the diagnosis, with what crashed on the way."""
    machine = MachineView(snapshot, matrix, policy)
    said = steps(reading_of_text, None, machine)
    if rules is None:
        named = said.candidates if said else frozenset[str]()
        rules = steps(applicable_rules, (), machine, policy, named) or rules_without(frozenset())
    chosen = steps(choose_rules, (), rules, policy)
    each: list[RuleRun] = steps(run_each_rule, [], chosen, machine)
    runs = steps(downgraded_runs, each, each, machine)
    if said is not None:
        runs = steps(runs_with_reported, runs, runs, machine, chosen)
        runs = steps(said.runs_with_causes, runs, runs, chosen)
    doubted = steps(said.doubted_causes, frozenset(), runs) if said is not None else frozenset[str]()
    findings = steps(explained_findings, tuple(finding for run in runs for finding in run.findings), runs, doubted)
    outcomes = steps(explained_outcomes, tuple(run.outcome for run in runs), runs, findings)
    unknown = steps(unchecked_things, (), machine)
    gaps = steps(unproven_clauses, (), machine, unknown, runs, said.causes if said is not None else ())
    rows = steps(ladder_rows, (), machine)
    proved = steps(proven_scope_of_machine, NOTHING_PROVEN, machine, rows)
    seen = steps(machine_summary, Summary(), machine)
    steps(tables_date, "", matrix)  # the report states it
    left_out = steps(skipped_rules, (), rules, policy)
    answer = steps(verdict, Verdict.UNKNOWN, findings, (*gaps, *steps.crashed))
    code = steps(exit_code, CRASHED, answer, policy, (*outcomes, *steps.crashed), snapshot)
    return Diagnosis(
        verdict=answer,
        exit_code=code,
        proved_to=proved,
        findings=findings,
        outcomes=(*outcomes, *steps.crashed),
        ladder=rows,
        unproven=(*gaps, *(outcome.reason for outcome in steps.crashed)),
        skipped=left_out,
        unchecked=unknown,
        summary=seen,
    )


def reading_of_text(machine: MachineView) -> LogReading | None:
    """Return what the lines of a text say; None for a machine that was examined or stated."""
    if not isinstance(machine.observed.text_log, TextLog):
        return None
    from gpudoctor.diagnose.log_reading import LogReading  # noqa: PLC0415 -- 20 ms for the signatures, which only text needs

    return LogReading(machine, machine.observed.text_log)


def tables_date(matrix: Matrix) -> str:
    """Return when the tables were last updated."""
    return matrix.date


NOTHING_PROVEN = ProvedTo(rung=None, gpus=0, of=0, text="")


def ladder_rows(machine: MachineView) -> tuple[LadderRow, ...]:
    """Return the stages of each GPU."""
    return machine.ladder.rows


def proven_scope_of_machine(machine: MachineView, rows: tuple[LadderRow, ...]) -> ProvedTo:
    """Return what was proven on how many GPUs."""
    return proven_scope(rows, machine.cpu_framework)


def explained_outcomes(runs: Sequence[RuleRun], findings: tuple[Finding, ...]) -> tuple[Outcome, ...]:
    """Return the outcomes of the rules, each with the finding that explains it."""
    return tuple(explained_outcome(run, findings) for run in runs)
