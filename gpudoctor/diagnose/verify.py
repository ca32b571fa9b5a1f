"""The gpudoctor commands in a report: they examine what this run examined, and one that verifies a fix runs the same rule."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.packages import quoted_interpreter
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rule_choice import ANY_SUBJECT
from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import SUPPOSED, Missing, Python, ScriptFolder

_Options = list[str]
"""An option and its value; empty: none is needed."""
_GPUDOCTOR_COMMAND = re.compile(r"\bgpudoctor (check|smoke)\b")
_LEVEL_OPTIONS = ("--level", "--no-smoke")


def verify_command(rule: Rule, severity: Severity, machine: MachineView, elsewhere: str = "") -> str:
    """Return the command for a finding of `rule`; empty for a note, which no exit code shows, and on an assumed machine.

    It exits with 0 or 1. `elsewhere` is the new environment that a fix creates, quoted for the shell; empty if it is the examined one.
    """
    if severity is Severity.NOTE or machine.observed.origin == SUPPOSED:
        return ""
    required = list(_requirement_options(machine)) if rule.checks_required else []
    return _command_line(
        "gpudoctor check",
        *(required or [["--only", rule.code]]),
        _level_options(_needed_level(rule, machine)),
        *_environment_options(machine, elsewhere),
        ["--fail-on", "warning"] if severity is Severity.WARNING else [],
    )


def completed_command(line: str, machine: MachineView) -> str:
    """Return a command; one that runs gpudoctor again gets the options of this run, but for those that it states."""
    ours = _GPUDOCTOR_COMMAND.search(line)
    if not ours or machine.observed.origin == SUPPOSED:
        return line
    words = line.split()
    level = [] if any(option in words for option in _LEVEL_OPTIONS) else _level_options(machine.policy.level)
    of_check = [level, *_requirement_options(machine)] if ours[1] == "check" else []
    added = (*of_check, *_environment_options(machine))
    return _command_line(line, *(option for option in added if option and option[0] not in words))


def _command_line(line: str, *options: _Options) -> str:
    return " ".join((line, *(word for option in options for word in option)))


def _requirement_options(machine: MachineView) -> Iterator[_Options]:
    """Yield what the user required of the machine, and the frameworks to train with."""
    for text in machine.policy.require:
        yield ["--require", shlex.quote(text)]
    for name in machine.policy.frameworks:
        yield ["--framework", name]


def _level_options(level: Level | None) -> _Options:
    if level is None or level is Level.TRAIN:
        return []
    return ["--no-smoke"] if level is Level.LOOK else ["--level", level.value]


def _needed_level(rule: Rule, machine: MachineView) -> Level | None:
    """Return the level at which a rule finds what it found."""
    if rule.checks_required == ANY_SUBJECT:
        return machine.policy.level
    return rule.sees_more_at if rule.sees_more_at > rule.seen_at and _has_reached(rule.sees_more_at, machine) else rule.seen_at


def _has_reached(level: Level, machine: MachineView) -> bool:
    """Whether the check reached a level."""
    section = machine.observed.contexts if level is Level.TOUCH else machine.observed.loads
    return not isinstance(section, Missing)


def _environment_options(machine: MachineView, elsewhere: str = "") -> Iterator[_Options]:
    """Yield what chooses the environment and the devices."""
    python, folder, policy = machine.observed.python, machine.observed.script_folder, machine.policy
    if policy.allow_cpu:
        yield ["--allow-cpu"]
    if policy.node:
        yield ["--node"]
    if elsewhere or (isinstance(python, Python) and python.named):
        yield ["--python", elsewhere or quoted_interpreter(python)]
    if isinstance(folder, ScriptFolder):
        yield ["--cwd", shlex.quote(folder.path)]
