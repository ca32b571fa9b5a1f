"""The command that says whether a fix helped: the same rule, asked again about the same environment; it exits with 0 or 1."""

from __future__ import annotations

import shlex

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.packages import interpreter
from gpudoctor.diagnose.choose import ANY
from gpudoctor.diagnose.rule import Rule
from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import Missing, Python

"""Why an interpreter was examined that no default would choose."""


def command(rule: Rule, severity: Severity, machine: MachineView, elsewhere: str = "") -> str:
    """The command for a finding of `rule`; empty for a note, which no exit code tells, and on a machine that is only supposed.

    `elsewhere` is the environment that a fix makes, spelt for the shell, where it is not the examined one.
    """
    if severity is Severity.NOTE or machine.observed.origin == "supposed":
        return ""
    cpu = ["--allow-cpu"] if machine.policy.allow_cpu else []
    words = [
        "gpudoctor",
        "check",
        *_chosen(rule, machine),
        *_level(rule, machine),
        *cpu,
        *(("--python", elsewhere) if elsewhere else _environment(machine)),
    ]
    return " ".join((*words, *(("--fail-on", "warning") if severity is Severity.WARNING else ())))


def _chosen(rule: Rule, machine: MachineView) -> list[str]:
    """What is asked: the rule alone; a requirement is asked for as it was, with every rule, which `--require` needs."""
    asked_for = machine.policy.require or machine.policy.frameworks
    if asked_for and rule.checks_required:
        asked = [word for text in machine.policy.require for word in ("--require", shlex.quote(text))]
        return [*asked, *(word for name in machine.policy.frameworks for word in ("--framework", name))]
    return ["--only", rule.code]


def _level(rule: Rule, machine: MachineView) -> list[str]:
    if rule.checks_required == ANY:
        return ["--level", machine.policy.level.value] if machine.policy.level not in {None, Level.TRAIN} else []
    level = rule.sees_more_at if rule.sees_more_at > rule.seen_at and _went_to(rule.sees_more_at, machine) else rule.seen_at
    return {Level.LOOK: ["--no-smoke"], Level.TRAIN: []}.get(level, ["--level", level.value])


def _went_to(level: Level, machine: MachineView) -> bool:
    """Whether the check went as far as a level."""
    section = machine.observed.contexts if level is Level.TOUCH else machine.observed.loads
    return not isinstance(section, Missing)


def _environment(machine: MachineView) -> list[str]:
    python = machine.observed.python
    return ["--python", interpreter(python)] if isinstance(python, Python) and python.named else []
