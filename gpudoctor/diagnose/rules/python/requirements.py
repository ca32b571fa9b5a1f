"""What the rules about `--require` share."""

from __future__ import annotations

from gpudoctor.derive import EnvironmentView
from gpudoctor.derive.unknown import CouldNotTell, not_applicable
from gpudoctor.diagnose.preflight import Judged, judged
from gpudoctor.diagnose.verdict import required
from gpudoctor.snapshot import Missing


def required_but(answer: Judged) -> str:
    """What is required and what is there instead, as a clause."""
    return f"{answer.requirement.text} is required, but {answer.seen}"


def answers_for(environment: EnvironmentView) -> tuple[Judged, ...]:
    """How each requirement fares; the rule does not apply where there is none."""
    machine = environment.machine
    return judged(machine, required(machine.policy)) or not_applicable("nothing is required")


def end_if_unknown(answers: tuple[Judged, ...]) -> None:
    """End the rule where a requirement could not be checked: it is not met."""
    for answer in answers:
        if answer.missing is not None:
            raise CouldNotTell(Missing(answer.missing.cause, f"{answer.requirement.text}: {answer.missing.reason}"), answer.rung)
