"""The machine that `plan` and `index` are asked about: the one stated, otherwise this one, looked at."""

from __future__ import annotations

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import run
from gpudoctor.cli import system
from gpudoctor.findings import Level, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.plan import Combination
from gpudoctor.plan.machine import machine
from gpudoctor.plan.propose import Question
from gpudoctor.plan.pythons import refuse_python_2
from gpudoctor.plan.spelt import respelt
from gpudoctor.plan.this_machine import examined, lacks_driver, python_of


def question(combination: Combination, matrix: Matrix, command: str, compat: str | None = None, *, os_stated: bool) -> Question:
    """Return what to plan, for the machine that the options state, otherwise for this one. Raises UsageError for what cannot be understood.

    A Python version alone states no other machine; the operating system does if it is stated.
    """
    combination = respelt(combination)
    requirements, python = combination.requirements, combination.python or ""
    if command == "plan":
        refuse_python_2((python,) if python else ())
    described = machine(combination, matrix)  # refuses options that contradict one another, also where this machine is looked at
    if os_stated or any((combination.driver, combination.gpus, combination.cc, combination.arch)):
        return Question(requirements=requirements, machine=described, python=python)
    system.require_linux(command)
    seen = run(CheckOptions(policy=Policy(level=Level.LOOK), compat=compat)).snapshot
    here = examined(seen, matrix)
    return Question(requirements=requirements, machine=here, python=python, preferred=python_of(seen), without_driver=lacks_driver(here))
