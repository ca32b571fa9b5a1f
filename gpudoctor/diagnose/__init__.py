"""The diagnosis: pure rules over what was observed. The same snapshot, matrix and wishes give the same diagnosis, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.derive import MachineView, proved_to
from gpudoctor.derive.summary import summary
from gpudoctor.diagnose.causality import excuse, fold
from gpudoctor.diagnose.choose import choose, skipped
from gpudoctor.diagnose.engine import Run, run_each, spare
from gpudoctor.diagnose.needed import ALWAYS, needed
from gpudoctor.diagnose.reported import reported
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.steps import Steps
from gpudoctor.diagnose.unjudged import not_judged
from gpudoctor.diagnose.verdict import exit_code, unproven, verdict
from gpudoctor.findings import Diagnosis, Finding, LadderRow, Outcome, Policy, ProvedTo
from gpudoctor.findings.summary import Summary
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot, TextLog

__all__ = ["Rule", "choose", "diagnose"]


def diagnose(snapshot: Snapshot, matrix: Matrix, policy: Policy, rules: tuple[Rule, ...] | None = None) -> Diagnosis:
    """Return what is wrong, why, what follows from it, and what was verified, by these rules, or by every rule.

    Raises UsageError where the policy chooses rules that do not exist, or none.
    """
    machine = MachineView(snapshot, matrix, policy)
    steps = Steps()
    rules = steps(needed, ALWAYS, machine, policy) if rules is None else rules
    chosen = choose(rules, policy)
    each = run_each(chosen, machine)
    runs = steps(spare, each, each, machine)
    if isinstance(snapshot.text_log, TextLog):
        from gpudoctor.diagnose.logged import logged  # noqa: PLC0415 -- a live machine has no text, and this loads the signatures

        runs = steps(reported, runs, runs, machine, chosen)
        runs = steps(logged, runs, runs, machine, chosen)
    findings = steps(fold, tuple(finding for run in runs for finding in run.findings), runs)
    outcomes = steps(excuse_all, tuple(run.outcome for run in runs), runs, findings)
    unjudged = steps(not_judged, (), machine)
    because = steps(unproven, "", machine, unjudged, runs)
    rows = steps(ladder_rows, (), machine)
    proved = steps(proved_by, ProvedTo(rung=None, gpus=0, of=0, text=""), machine, rows)
    seen = steps(summary, Summary(), machine)
    outcomes = (*outcomes, *steps.crashed)
    because = "; ".join(filter(None, (because, *(outcome.reason for outcome in steps.crashed))))
    answer = verdict(findings, because)
    return Diagnosis(
        verdict=answer,
        exit_code=exit_code(answer, policy, outcomes, snapshot),
        proved_to=proved,
        findings=findings,
        outcomes=outcomes,
        ladder=rows,
        because=because,
        skipped=skipped(rules, policy),
        not_judged=unjudged,
        summary=seen,
    )


def ladder_rows(machine: MachineView) -> tuple[LadderRow, ...]:
    """Return the stages of each GPU."""
    return machine.ladder.rows


def proved_by(machine: MachineView, rows: tuple[LadderRow, ...]) -> ProvedTo:
    """Return what was proven on how many GPUs."""
    return proved_to(rows, machine.cpu_framework)


def excuse_all(runs: Sequence[Run], findings: tuple[Finding, ...]) -> tuple[Outcome, ...]:
    """Return the outcomes of the rules, each with the finding that explains it."""
    return tuple(excuse(run, findings) for run in runs)
