"""The command that says whether a fix helped: the same rule, asked again about the same environment; it exits with 0 or 1."""

from __future__ import annotations

import shlex

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.choose import JUDGE_OF, JUDGES
from gpudoctor.diagnose.fixes import interpreter
from gpudoctor.diagnose.rule import Rule, parameters
from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import CudaContext, Missing, Python, Smoke

NAMED = "named with --python"
"""Why an interpreter was examined that no default would choose."""
_AT_FULL = ("GD804", "GD807", "GD909")
"""Rules on what only level full measures."""
_WATCHED = ("GD111", "GD906", "GD907", "GD908", "GD910")
"""Rules on what is seen while a GPU is trained on, where it was."""
_TOUCHED = ("GD206", "GD221")
"""Rules that see more where a kernel of ours ran."""


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
    if asked_for and (rule.name in JUDGES or rule.name in JUDGE_OF.values()):
        asked = [word for text in machine.policy.require for word in ("--require", shlex.quote(text))]
        return [*asked, *(word for name in machine.policy.frameworks for word in ("--framework", name))]
    return ["--only", rule.code]


def _level(rule: Rule, machine: MachineView) -> list[str]:
    kinds = {parameter.type for parameter in parameters(rule.body)}
    if rule.code in _AT_FULL:
        return ["--level", "full"]
    if rule.name in JUDGES:
        return ["--level", machine.policy.level.value] if machine.policy.level not in {None, Level.TRAIN} else []
    if Smoke in kinds or (rule.code in _WATCHED and not isinstance(machine.observed.loads, Missing)):
        return []
    return ["--level", "touch"] if CudaContext in kinds or (rule.code in _TOUCHED and _ran(machine)) else ["--no-smoke"]


def _ran(machine: MachineView) -> bool:
    return not isinstance(machine.observed.contexts, Missing)


def _environment(machine: MachineView) -> list[str]:
    python = machine.observed.python
    return ["--python", interpreter(python)] if isinstance(python, Python) and python.why == NAMED else []
