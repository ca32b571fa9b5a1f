"""Which causes the output of a failed smoke training points to: chosen as those of a pasted text are, beside the facts of the machine."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.diagnose.advice.packages import for_environment
from gpudoctor.diagnose.engine import run_each
from gpudoctor.diagnose.excluded import excluded
from gpudoctor.diagnose.log_problems import fixes_of, frameworks_of, is_sure
from gpudoctor.diagnose.logged import LogReading
from gpudoctor.diagnose.rule import TRAINING_FAILS, Rule
from gpudoctor.diagnose.rules import named
from gpudoctor.findings import Fix
from gpudoctor.signatures import Recognised, harmless
from gpudoctor.snapshot import LAST_OUTPUT, Fact, TextLog

_READ_IT = frozenset({*TRAINING_FAILS, "all-reduce-failed"})
"""Rules that read the output, so what they find of it acquits no cause."""


class Pointer(NamedTuple):
    """What a line of the output points to."""

    sign: Recognised
    rules: tuple[Rule, ...]
    """Its likely causes, the likeliest first; none where the line names no cause but what to do."""
    sure: bool
    """Whether the first of them is the cause."""
    fixes: tuple[Fix, ...]


_NOT_HERE = frozenset(
    {
        *TRAINING_FAILS,
        "extension-missing-arch",
        "cupy-wheel-cuda-mismatch",
        "torch-torchvision-mismatch",
        "torch-torchaudio-mismatch",
    }
)
"""What says no more than that training failed, and what lies in packages that no smoke training imports."""
_DISPROVED = frozenset({"framework-missing", "wrong-python-environment"})
"""What cannot be of the examined Python, which has the framework."""


def pointed(framework: FrameworkView, output: str, error: str = "") -> Pointer | None:
    """Return what the output and the error of a stage point to; None where no line names a cause that the machine's facts leave open.

    Only this framework was trained, so nothing of the others speaks for a cause.
    """
    machine = framework.machine
    told = [line for line in output.splitlines() if line.strip() and not harmless(line)]
    lines = tuple(Fact(line, framework.name) for line in (*told, *error.partition(LAST_OUTPUT)[0].splitlines()))
    alone = msgspec.structs.replace(machine.observed, frameworks=(framework.observed,))
    log = TextLog(lines)
    logged = MachineView(msgspec.structs.replace(alone, text_log=log), machine.matrix, machine.policy)
    reading = LogReading(logged, log)
    by_name = {rule.name: rule for rule in named(reading.causes)}
    judges = tuple(rule for rule in by_name.values() if rule.name not in _READ_IT)
    chosen = reading.chosen(by_name, run_each(judges, MachineView(alone, machine.matrix, machine.policy)))
    no_cause = _DISPROVED | excluded(logged)
    for sign, choice in sorted(chosen, key=lambda row: row[0].signature.vague):
        likely = tuple(by_name[name] for name in choice.likely if name not in _NOT_HERE | no_cause)
        if likely:
            sure = is_sure(sign, choice.why.get(likely[0].name))
            fixes = fixes_of(likely[0], sign.signature.cure, machine, frameworks_of(sign, machine), sure=sure)
            return Pointer(sign, likely, sure, tuple(_for_environment(fix, machine) for fix in fixes))
        if not no_cause.issuperset(choice.likely) and (not sign.signature.vague or sign.signature.cure):
            return Pointer(sign, (), True, (Fix(sign.signature.cure),) if sign.signature.cure else ())
    return None


def _for_environment(fix: Fix, machine: MachineView) -> Fix:
    return msgspec.structs.replace(fix, command=for_environment(fix.command, machine.observed.python))
