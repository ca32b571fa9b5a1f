"""The machine that `plan` and `index` are asked about: the one stated, otherwise this one, looked at."""

from __future__ import annotations

from typing import Literal

import msgspec

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import run
from gpudoctor.cli import system
from gpudoctor.findings import Level, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.plan import Combination
from gpudoctor.plan.machine import WITHOUT_GPU, machine
from gpudoctor.plan.propose import Question
from gpudoctor.plan.this_machine import examined, lacks_driver, python_of


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """What the options state of a machine."""

    driver: str | None
    gpus: tuple[str, ...]
    cc: str | None
    python: str | None
    os: Literal["linux", "windows", "macos", "wsl"] | None
    arch: str | None

    @property
    def another(self) -> bool:
        """Whether a machine is stated, not only a Python version."""
        return any((self.driver, self.gpus, self.cc, self.os, self.arch))


def question(requirements: tuple[str, ...], stated: Stated, matrix: Matrix, command: str, compat: str | None) -> Question:
    """Return what to plan and for which machine. Raises UsageError for options that cannot be understood."""
    combination = Combination(
        requirements=requirements,
        driver=stated.driver,
        gpus=WITHOUT_GPU if tuple(map(str.lower, stated.gpus)) == WITHOUT_GPU else stated.gpus,
        cc=stated.cc,
        python=stated.python,
        os=stated.os or "linux",
        arch=stated.arch,
    )
    described = machine(combination, matrix)  # refuses options that contradict one another, also where this machine is looked at
    if stated.another:
        return Question(requirements=requirements, machine=described, python=stated.python or "")
    system.require_linux(command)
    seen = run(CheckOptions(policy=Policy(level=Level.LOOK), compat=compat)).snapshot
    here = examined(seen, matrix)
    return Question(
        requirements=requirements,
        machine=here,
        python=stated.python or "",
        preferred=python_of(seen),
        without_driver=lacks_driver(here),
    )
