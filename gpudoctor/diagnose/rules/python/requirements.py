"""Shared parts of the rules about `--require`."""

from gpudoctor.derive import CouldNotTell, EnvironmentView, not_applicable
from gpudoctor.diagnose.required_conditions import CheckedCondition, checked_conditions
from gpudoctor.diagnose.verdict import required_stage
from gpudoctor.findings import Action, Fix, FixKind
from gpudoctor.snapshot import Missing


def requirement_clause(answer: CheckedCondition) -> str:
    """Return what is required and what was found, as a clause."""
    return f"{answer.requirement.text} is required, but {answer.seen}"


def use_another_machine(answer: CheckedCondition, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the last resort for a requirement on the hardware, in words that suit any comparison."""
    return Fix(
        f"Run on a machine that meets {answer.requirement.text}, or change the requirement.", kind=kind, action=Action.REPLACE_HARDWARE
    )


def applicable_conditions(environment: EnvironmentView) -> tuple[CheckedCondition, ...]:
    """Return the answer for each requirement; the rule ends if there are none."""
    machine = environment.machine
    return checked_conditions(machine, required_stage(machine.policy)) or not_applicable("nothing is required")


def end_if_unknown(answers: tuple[CheckedCondition, ...]) -> None:
    """End the rule as "not checked" if a requirement could not be checked."""
    for answer in answers:
        if answer.missing is not None:
            raise CouldNotTell(Missing(answer.missing.cause, f"{answer.requirement.text}: {answer.missing.reason}"), answer.rung)
