"""The diagnosis: pure rules over what was observed. The same snapshot, matrix and wishes give the same diagnosis, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudoctor.derive import MachineView, proved_to
from gpudoctor.derive.summary import summary
from gpudoctor.diagnose.causality import excuse, fold
from gpudoctor.diagnose.choose import choose, skipped
from gpudoctor.diagnose.engine import RuleRun, run_each, spare
from gpudoctor.diagnose.needed import needed
from gpudoctor.diagnose.reported import reported
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import without
from gpudoctor.diagnose.steps import Steps
from gpudoctor.diagnose.unchecked import unchecked
from gpudoctor.diagnose.verdict import exit_code, unproven, verdict
from gpudoctor.exit_codes import CRASHED
from gpudoctor.findings import Diagnosis, Finding, LadderRow, Outcome, Policy, ProvedTo, Verdict
from gpudoctor.findings.summary import Summary
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot, TextLog

if TYPE_CHECKING:
    from gpudoctor.diagnose.logged import LogReading

__all__ = ["Rule", "choose", "diagnose", "tables_date", "undiagnosed"]


def diagnose(snapshot: Snapshot, matrix: Matrix, policy: Policy, rules: tuple[Rule, ...] | None = None) -> Diagnosis:
    """Return what is wrong, why, what follows from it, and what was verified, by these rules, or by every rule.

    Raises UsageError where the policy chooses rules that do not exist, or none.
    """
    steps = Steps()
    whole = steps(diagnosis, None, steps, snapshot, matrix, policy, rules)
    return undiagnosed(tuple(outcome.reason for outcome in steps.crashed), tuple(steps.crashed)) if whole is None else whole


def undiagnosed(unproven: tuple[str, ...], outcomes: tuple[Outcome, ...] = ()) -> Diagnosis:
    """Return the diagnosis where our code crashes: unknown, and why."""
    return Diagnosis(
        verdict=Verdict.UNKNOWN, exit_code=CRASHED, proved_to=NOTHING, findings=(), outcomes=outcomes, ladder=(), unproven=unproven
    )


def diagnosis(steps: Steps, snapshot: Snapshot, matrix: Matrix, policy: Policy, rules: tuple[Rule, ...] | None) -> Diagnosis:
    """Return the diagnosis, with what crashed on the way."""
    machine = MachineView(snapshot, matrix, policy)
    said = steps(said_by, None, machine)
    if rules is None:
        named = said.candidates if said else frozenset[str]()
        rules = steps(needed, (), machine, policy, named) or without(frozenset())
    chosen = steps(choose, (), rules, policy)
    each: list[RuleRun] = steps(run_each, [], chosen, machine)
    runs = steps(spare, each, each, machine)
    if said is not None:
        runs = steps(reported, runs, runs, machine, chosen)
        runs = steps(said.added, runs, runs, chosen)
    doubted = steps(said.doubted, frozenset(), runs) if said is not None else frozenset[str]()
    findings = steps(fold, tuple(finding for run in runs for finding in run.findings), runs, doubted)
    outcomes = steps(excuse_all, tuple(run.outcome for run in runs), runs, findings)
    unknown = steps(unchecked, (), machine)
    gaps = steps(unproven, (), machine, unknown, runs, said.causes if said is not None else ())
    rows = steps(ladder_rows, (), machine)
    proved = steps(proved_by, NOTHING, machine, rows)
    seen = steps(summary, Summary(), machine)
    steps(tables_date, "", matrix)  # the report states it
    left_out = steps(skipped, (), rules, policy)
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


def said_by(machine: MachineView) -> LogReading | None:
    """Return what the lines of a text say; None for a machine that was examined or stated."""
    if not isinstance(machine.observed.text_log, TextLog):
        return None
    from gpudoctor.diagnose.logged import LogReading  # noqa: PLC0415 -- 20 ms for the signatures, which only text needs

    return LogReading(machine, machine.observed.text_log)


def tables_date(matrix: Matrix) -> str:
    """Return when the tables were last updated."""
    return matrix.date


NOTHING = ProvedTo(rung=None, gpus=0, of=0, text="")


def ladder_rows(machine: MachineView) -> tuple[LadderRow, ...]:
    """Return the stages of each GPU."""
    return machine.ladder.rows


def proved_by(machine: MachineView, rows: tuple[LadderRow, ...]) -> ProvedTo:
    """Return what was proven on how many GPUs."""
    return proved_to(rows, machine.cpu_framework)


def excuse_all(runs: Sequence[RuleRun], findings: tuple[Finding, ...]) -> tuple[Outcome, ...]:
    """Return the outcomes of the rules, each with the finding that explains it."""
    return tuple(excuse(run, findings) for run in runs)
