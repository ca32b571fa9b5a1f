"""What the log lines of a pasted text say: causes that no rule could judge by facts, and evidence for those that a rule found."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.diagnose.engine import Run, stamp
from gpudoctor.diagnose.excluded import excluded
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.support import supported
from gpudoctor.findings import MACHINE, Confidence, Evidence, Outcome, OutcomeKind, Problem, Severity, SubjectKind
from gpudoctor.signatures import Recognised, recognise
from gpudoctor.snapshot import TextLog

_SILENT = frozenset({OutcomeKind.NOT_ASKED, OutcomeKind.COULD_NOT_TELL})
"""Outcomes that leave a cause open."""


def logged(runs: Sequence[Run], machine: MachineView, rules: Sequence[Rule]) -> list[Run]:
    """Return the runs and, for each sign in the text, its likeliest cause unless facts found one of its causes or ruled it out."""
    log = machine.observed.text_log
    if not isinstance(log, TextLog):
        return list(runs)
    by_name = {rule.name: rule for rule in rules}
    spoken_for, impossible = supported(machine, log), excluded(machine)
    found = {run.rule.name for run in runs if any(finding.severity > Severity.NOTE for finding in run.findings)}
    more = []
    for sign in recognise("\n".join(line.value for line in log.lines)):
        named = [name for name in sign.signature.causes if name in by_name and not _is_acquitted(by_name[name], runs)]
        causes = [name for name in named if name not in impossible] or named
        backed = {name for name in causes if name in spoken_for and spoken_for[name].value not in sign.line}
        likely = causes if len(causes) == 1 else [name for name in causes if name in backed or _is_open(by_name[name], runs)]
        likely.sort(key=lambda name: name not in backed)
        if sign.signature.needs_support and not backed:
            continue
        if not likely or found.intersection(causes) or (sign.signature.vague and found):
            continue
        found.add(likely[0])
        more.append(_run(by_name[likely[0]], sign, likely, log, machine, why=spoken_for[likely[0]] if likely[0] in backed else None))
    return [*runs, *more]


def _is_open(rule: Rule, runs: Sequence[Run]) -> bool:
    """Return whether no fact rules the cause out. A text states versions; it rarely states what services run and what is switched off."""
    kinds = {run.outcome.kind for run in runs if run.rule.name == rule.name}
    judged_by_versions = rule.about is not SubjectKind.MACHINE or rule.family == "driver"
    return not kinds or not judged_by_versions or bool(kinds & _SILENT)


def _is_acquitted(rule: Rule, runs: Sequence[Run]) -> bool:
    """Return whether versions rule a cause out, whatever words speak for it: this build has kernels for this GPU."""
    kinds = {run.outcome.kind for run in runs if run.rule.name == rule.name}
    return rule.about is SubjectKind.FRAMEWORK and kinds == {OutcomeKind.PASSED}


def _run(rule: Rule, sign: Recognised, causes: Sequence[str], log: TextLog, machine: MachineView, *, why: Evidence | None) -> Run:
    where = next((line.where for line in log.lines if sign.line in line.value or line.value in sign.line), "the text")
    problem = Problem(
        message=f"The log says that {sign.signature.meaning}.",
        evidence=(Evidence("log", sign.line, where), *((why,) if why else ())),
        fixes=tuple(read_page(name) for name in causes),
        severity=max(rule.severity, Severity.WARNING),
        confidence=Confidence.LIKELY if why or len(sign.signature.causes) == 1 else Confidence.POSSIBLE,
        subject=MACHINE,
    )
    finding = stamp(rule, MACHINE, problem, 0, machine)
    outcome = Outcome(code=rule.code, name=rule.name, subject=MACHINE, kind=OutcomeKind.FOUND)
    return Run(rule, outcome, (finding,), None, ("",))
