"""Which causes the output of a failed smoke training points to: chosen as those of a pasted text are, beside the facts of the machine."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.diagnose.advice.packages import command_for_environment
from gpudoctor.diagnose.cause_exclusion import excluded_causes
from gpudoctor.diagnose.engine import run_each_rule
from gpudoctor.diagnose.log_problems import fixes_for_cause, frameworks_of_sign, is_cause_certain
from gpudoctor.diagnose.log_reading import LogReading
from gpudoctor.diagnose.rule import TRAINING_FAILS, Rule
from gpudoctor.diagnose.rules import rules_with_names
from gpudoctor.findings import Fix
from gpudoctor.signatures import SignatureMatch, harmless_reason
from gpudoctor.snapshot import LAST_OUTPUT, Fact, TextLog

_LOG_READING_RULES = frozenset({*TRAINING_FAILS, "all-reduce-failed"})
"""Rules that read the output, so what they find of it acquits no cause."""


class LogPointer(NamedTuple):
    """What a line of the output points to."""

    sign: SignatureMatch
    rules: tuple[Rule, ...]
    """Its likely causes, the likeliest first; none where the line names no cause but what to do."""
    sure: bool
    """Whether the first of them is the cause."""
    fixes: tuple[Fix, ...]


_UNRELATED_CAUSES = frozenset(
    {
        *TRAINING_FAILS,
        "extension-missing-arch",
        "cupy-wheel-cuda-mismatch",
        "torch-torchvision-mismatch",
        "torch-torchaudio-mismatch",
    }
)
"""What says no more than that training failed, and what lies in packages that no smoke training imports."""
_DISPROVED_CAUSES = frozenset({"framework-missing", "wrong-python-environment"})
"""What cannot be of the examined Python, which has the framework."""


def pointer_in_output(framework: FrameworkView, output: str, error: str = "") -> LogPointer | None:
    """Return what the output and the error of a stage point to; None where no line names a cause that the machine's facts leave open.

    Only this framework was trained, so nothing of the others speaks for a cause.
    """
    machine = framework.machine
    told = [line for line in output.splitlines() if line.strip() and not harmless_reason(line)]
    lines = tuple(Fact(line, framework.name) for line in (*told, *error.partition(LAST_OUTPUT)[0].splitlines()))
    alone = msgspec.structs.replace(machine.observed, frameworks=(framework.observed,))
    log = TextLog(lines)
    logged = MachineView(msgspec.structs.replace(alone, text_log=log), machine.matrix, machine.policy)
    reading = LogReading(logged, log)
    by_name = {rule.name: rule for rule in rules_with_names(reading.causes)}
    judges = tuple(rule for rule in by_name.values() if rule.name not in _LOG_READING_RULES)
    chosen = reading.chosen(by_name, run_each_rule(judges, MachineView(alone, machine.matrix, machine.policy)))
    no_cause = _DISPROVED_CAUSES | excluded_causes(logged)
    for sign, choice in sorted(chosen, key=lambda row: row[0].signature.vague):
        likely = tuple(by_name[name] for name in choice.likely if name not in _UNRELATED_CAUSES | no_cause)
        if likely:
            sure = is_cause_certain(sign, choice.why.get(likely[0].name))
            fixes = fixes_for_cause(likely[0], sign.signature.cure, machine, frameworks_of_sign(sign, machine), sure=sure)
            return LogPointer(sign, likely, sure, tuple(_fix_for_environment(fix, machine) for fix in fixes))
        if not no_cause.issuperset(choice.likely) and (not sign.signature.vague or sign.signature.cure):
            return LogPointer(sign, (), True, (Fix(sign.signature.cure),) if sign.signature.cure else ())
    return None


def _fix_for_environment(fix: Fix, machine: MachineView) -> Fix:
    return msgspec.structs.replace(fix, command=command_for_environment(fix.command, machine.observed.python))
