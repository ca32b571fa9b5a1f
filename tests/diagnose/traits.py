"""The traits of every rule in one file: what it predicts, what it explains, and what it advises where only a log names the fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from tests.builders import bare, machine

FILE: Final = Path(__file__).parent / "traits.txt"
_TOLD: Final = {"code", "body", "explains", "advice"}
"""What has a line of its own."""
_USUAL: Final = dict(zip(reversed(Rule.__struct_fields__), reversed(Rule.__struct_defaults__), strict=False))


def text(matrix: Matrix) -> str:
    """Return the traits of all rules."""
    machines = [MachineView(snapshot, matrix, Policy()) for snapshot in (machine(2), bare())]
    return "\n\n".join("\n  ".join(_lines(rule, machines)) for rule in RULES) + "\n"


def _lines(rule: Rule, machines: list[MachineView]) -> Iterator[str]:
    yield f"{rule.code} {rule.name}: {rule.title}"
    stated = {name: value for name, value in msgspec.structs.asdict(rule).items() if name not in _TOLD and value != _USUAL.get(name)}
    yield ", ".join(f"{name} {getattr(value, 'value', value)}" for name, value in stated.items())
    yield from (f"explains {' '.join(explain.effects)} ({explain.join.value}): {explain.because}" for explain in rule.explains)
    if rule.advice:
        fixes = dict.fromkeys(fix for machine in machines for fix in rule.advice(machine))
        yield from (f"{fix.kind.value}: {fix.title}" + f" | {fix.command}" * bool(fix.command) for fix in fixes)
