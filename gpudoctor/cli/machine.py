"""The machine that `plan` and `index` are asked about: the one stated, otherwise this one, looked at."""

from __future__ import annotations

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import examine_machine
from gpudoctor.cli import system
from gpudoctor.findings import Level, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.plan import Combination
from gpudoctor.plan.assumed_machine import assumed_machine
from gpudoctor.plan.examined_machine import examined_machine, is_without_driver, python_of_snapshot
from gpudoctor.plan.proposal import PlanQuestion
from gpudoctor.plan.python_choice import refuse_python_2
from gpudoctor.plan.spellings import normalised_combination


def plan_question(combination: Combination, matrix: Matrix, command: str, compat: str | None = None, *, os_stated: bool) -> PlanQuestion:
    """Return what to plan, for the machine that the options state, otherwise for this one. Raises UsageError for what cannot be understood.

    A Python version alone states no other machine; the operating system does if it is stated.
    """
    combination = normalised_combination(combination)
    requirements, python = combination.requirements, combination.python or ""
    if command == "plan":
        refuse_python_2((python,) if python else ())
    described = assumed_machine(combination, matrix)  # refuses options that contradict one another, also where this machine is looked at
    if os_stated or any((combination.driver, combination.gpus, combination.cc, combination.arch)):
        return PlanQuestion(requirements=requirements, machine=described, python=python)
    system.require_linux(command)
    seen = examine_machine(CheckOptions(policy=Policy(level=Level.LOOK), compat=compat)).snapshot
    here = examined_machine(seen, matrix)
    return PlanQuestion(
        requirements=requirements, machine=here, python=python, preferred=python_of_snapshot(seen), without_driver=is_without_driver(here)
    )
