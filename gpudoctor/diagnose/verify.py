"""The command that verifies a fix: it runs the same rule on the same environment and exits with 0 or 1."""

from __future__ import annotations

import shlex

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.packages import interpreter
from gpudoctor.diagnose.choose import ANY
from gpudoctor.diagnose.rule import Rule
from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import SUPPOSED, Missing, Python


def command(rule: Rule, severity: Severity, machine: MachineView, elsewhere: str = "") -> str:
    """Return the command for a finding of `rule`; empty for a note, which no exit code shows, and on an assumed machine.

    `elsewhere` is the new environment that a fix creates, quoted for the shell; empty if it is the examined one.
    """
    if severity is Severity.NOTE or machine.observed.origin == SUPPOSED:
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
    """Return the options that choose the rule; for a requirement the original options, which need every rule."""
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
    """Whether the check reached a level."""
    section = machine.observed.contexts if level is Level.TOUCH else machine.observed.loads
    return not isinstance(section, Missing)


def _environment(machine: MachineView) -> list[str]:
    python = machine.observed.python
    return ["--python", interpreter(python)] if isinstance(python, Python) and python.named else []
