"""The diagnosis: pure rules over what was observed. The same snapshot, matrix and wishes give the same diagnosis, byte for byte."""

from __future__ import annotations

from gpudoctor.derive import MachineView, proved_to
from gpudoctor.derive.summary import summary
from gpudoctor.diagnose.causality import excuse, fold
from gpudoctor.diagnose.choose import choose, skipped
from gpudoctor.diagnose.engine import run_all
from gpudoctor.diagnose.reported import reported
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.diagnose.unjudged import not_judged
from gpudoctor.diagnose.verdict import exit_code, unproven, verdict
from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot, TextLog

__all__ = ["RULES", "Rule", "choose", "diagnose"]


def diagnose(snapshot: Snapshot, matrix: Matrix, policy: Policy, rules: tuple[Rule, ...] = RULES) -> Diagnosis:
    """Return what is wrong, why, what follows from it, and what was verified.

    Raises UsageError where the policy chooses rules that do not exist, or none.
    """
    machine = MachineView(snapshot, matrix, policy)
    chosen = choose(rules, policy)
    runs = run_all(chosen, machine)
    if isinstance(snapshot.text_log, TextLog):
        from gpudoctor.diagnose.logged import logged  # noqa: PLC0415 -- a live machine has no text, and this loads the signatures

        runs = logged(reported(runs, machine, chosen), machine, chosen)
    findings = fold(runs)
    outcomes = tuple(excuse(run, findings) for run in runs)
    unjudged = not_judged(machine)
    because = unproven(machine, unjudged, runs)
    answer = verdict(findings, because)
    return Diagnosis(
        verdict=answer,
        exit_code=exit_code(answer, policy, outcomes, snapshot),
        proved_to=proved_to(machine.ladder.rows, machine.cpu_framework),
        findings=findings,
        outcomes=outcomes,
        ladder=machine.ladder.rows,
        because=because,
        skipped=skipped(rules, policy),
        not_judged=unjudged,
        summary=summary(machine),
    )
