"""The gpudoctor commands in a report: they examine what this run examined, and one that verifies a fix runs the same rule."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.packages import interpreter
from gpudoctor.diagnose.choose import ANY
from gpudoctor.diagnose.rule import Rule
from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import SUPPOSED, Missing, Python, ScriptFolder

_Options = list[str]
"""An option and its value; empty: none is needed."""
_OURS = re.compile(r"\bgpudoctor (check|smoke)\b")
_LEVELS = ("--level", "--no-smoke")


def command(rule: Rule, severity: Severity, machine: MachineView, elsewhere: str = "") -> str:
    """Return the command for a finding of `rule`; empty for a note, which no exit code shows, and on an assumed machine.

    It exits with 0 or 1. `elsewhere` is the new environment that a fix creates, quoted for the shell; empty if it is the examined one.
    """
    if severity is Severity.NOTE or machine.observed.origin == SUPPOSED:
        return ""
    required = list(_required(machine)) if rule.checks_required else []
    return _joined(
        "gpudoctor check",
        *(required or [["--only", rule.code]]),
        _level(_needed(rule, machine)),
        *_examined(machine, elsewhere),
        ["--fail-on", "warning"] if severity is Severity.WARNING else [],
    )


def completed(line: str, machine: MachineView) -> str:
    """Return a command; one that runs gpudoctor again gets the options of this run, but for those that it states."""
    ours = _OURS.search(line)
    if not ours or machine.observed.origin == SUPPOSED:
        return line
    words = line.split()
    level = [] if any(option in words for option in _LEVELS) else _level(machine.policy.level)
    of_check = [level, *_required(machine)] if ours[1] == "check" else []
    added = (*of_check, *_examined(machine))
    return _joined(line, *(option for option in added if option and option[0] not in words))


def _joined(line: str, *options: _Options) -> str:
    return " ".join((line, *(word for option in options for word in option)))


def _required(machine: MachineView) -> Iterator[_Options]:
    """Yield what the user required of the machine, and the frameworks to train with."""
    for text in machine.policy.require:
        yield ["--require", shlex.quote(text)]
    for name in machine.policy.frameworks:
        yield ["--framework", name]


def _level(level: Level | None) -> _Options:
    if level is None or level is Level.TRAIN:
        return []
    return ["--no-smoke"] if level is Level.LOOK else ["--level", level.value]


def _needed(rule: Rule, machine: MachineView) -> Level | None:
    """Return the level at which a rule finds what it found."""
    if rule.checks_required == ANY:
        return machine.policy.level
    return rule.sees_more_at if rule.sees_more_at > rule.seen_at and _went_to(rule.sees_more_at, machine) else rule.seen_at


def _went_to(level: Level, machine: MachineView) -> bool:
    """Whether the check reached a level."""
    section = machine.observed.contexts if level is Level.TOUCH else machine.observed.loads
    return not isinstance(section, Missing)


def _examined(machine: MachineView, elsewhere: str = "") -> Iterator[_Options]:
    """Yield what chooses the environment and the devices."""
    python, folder, policy = machine.observed.python, machine.observed.script_folder, machine.policy
    if policy.allow_cpu:
        yield ["--allow-cpu"]
    if policy.node:
        yield ["--node"]
    if elsewhere or (isinstance(python, Python) and python.named):
        yield ["--python", elsewhere or interpreter(python)]
    if isinstance(folder, ScriptFolder):
        yield ["--cwd", shlex.quote(folder.path)]
