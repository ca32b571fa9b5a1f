"""GD6: what the user requires with `--require` and this machine or environment does not give."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.preflight import Judged, judged
from gpudoctor.diagnose.rule import CouldNotTell, not_applicable
from gpudoctor.diagnose.verdict import required
from gpudoctor.snapshot import Missing


def _title(one: Judged) -> str:
    return f"{one.requirement.text} is required; {one.seen}"


def _asked(machine: MachineView) -> tuple[Judged, ...]:
    """Every requirement judged; ends the rule where there is none."""
    return judged(machine, required(machine.policy)) or not_applicable("nothing is required")


def _admit(answers: tuple[Judged, ...]) -> None:
    """What could not be observed is not met."""
    for one in answers:
        if one.missing is not None:
            raise CouldNotTell(Missing(one.missing.cause, f"{one.requirement.text}: {one.missing.reason}"), one.rung)
