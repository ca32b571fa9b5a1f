"""Finds what to change about an assumed environment to have one that works: as little as possible."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.derive.specifiers import requirement
from gpudoctor.diagnose.advice.driver import DOWNLOADS
from gpudoctor.diagnose.advice.system import USE_WSL
from gpudoctor.errors import UsageError
from gpudoctor.findings import DOWNLOAD, REBOOT, Action, Diagnosis, Finding, Fix, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied import applied, ways
from gpudoctor.plan.machine import machine
from gpudoctor.plan.model import Combination
from gpudoctor.plan.propose import Question, propose
from gpudoctor.plan.steps import Steps
from gpudoctor.report.plan import Environment, MachineChange

_MOST = 16
"""Combinations that are checked before the planner is asked."""
_DEPTH = 4
"""Findings that are fixed one after another."""


def error_left(found: Diagnosis) -> Finding | None:
    """Return the first root cause that is an error; None if there is none."""
    return next((one for one in found.root_causes if one.severity is Severity.ERROR), None)


class Repair:
    """What makes a combination work: first the fixes of its findings, one after another, then another plan."""

    def __init__(
        self,
        combination: Combination,
        matrix: Matrix,
        check: Callable[[Combination], Diagnosis],
        left: Callable[[Diagnosis], Finding | None] = error_left,
        beside: tuple[str, ...] = (),
    ) -> None:
        self._combination = combination
        self._matrix = matrix
        self._check = check
        self._left = left
        """Returns the finding that is to be fixed next; None if there is none."""
        self._steps = Steps(combination, matrix, beside, self._plan)
        self._machines: list[tuple[Fix, ...]] = []
        """The drivers that were tried before any package was changed, each as the step that leads there."""
        self.dead_end: tuple[Fix, ...] = ()
        """What the steps that were tried led to where only another machine helps."""

    def steps(self, found: Diagnosis) -> tuple[Fix, ...]:
        """Return the steps that lead to a combination that is not broken; () if none is known."""
        return self.steps_of_findings(found) or next(self._planned(found), ())

    def steps_of_findings(self, found: Diagnosis) -> tuple[Fix, ...]:
        """Return the steps by the fixes of the findings alone; () if these do not lead there."""
        one_by_one = self._one_by_one(found)
        return self._steps.completed(self._needed(self._steps.merged(one_by_one))) if one_by_one else ()

    def completed(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the same steps with commands that install all that was stated."""
        return self._steps.completed(fixes)

    def _needed(self, steps: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the steps without those that later ones made unnecessary, such as a newer C library for a release that is replaced."""
        fewer = (tuple(other for other in steps if other is not one) for one in steps if len(steps) > 1)
        enough = next((rest for rest in fewer if self.cures(rest)), None)
        return steps if enough is None else self._needed(enough)

    def cures(self, fixes: tuple[Fix, ...]) -> bool:
        """Return whether nothing is left to be fixed after these fixes."""
        after = applied(self._combination, fixes)
        return after != self._combination and self._works(after)

    def _works(self, after: Combination) -> bool:
        try:
            return self._left(self._check(after)) is None
        except UsageError:  # what is installed contradicts what was stated
            return False

    def _one_by_one(self, found: Diagnosis) -> tuple[Fix, ...]:
        """Return the fixes of the first finding, then those of the first that is left, and so on; the fewest steps that suffice."""
        left: deque[tuple[Combination, Diagnosis, tuple[Fix, ...]]] = deque([(self._combination, found, ())])
        seen = [self._combination]
        while left and len(seen) < _MOST:
            before, diagnosis, taken = left.popleft()
            self._note(diagnosis)
            finding = self._left(diagnosis)
            for fixes in ways(finding.fixes if finding else ()):
                after = applied(before, fixes)
                if after in seen:
                    continue
                seen.append(after)
                try:
                    then = self._check(after)
                except UsageError:
                    continue
                if self._left(then) is None:
                    return (*taken, *fixes)
                if all(fix.driver for fix in (*taken, *fixes)):
                    self._machines.append(fixes[-1:])
                if len(taken) < _DEPTH:
                    left.append((after, then, (*taken, *fixes)))
        return ()

    def _note(self, diagnosis: Diagnosis) -> None:
        """Remember that only another machine helps against an error."""
        fixes = (one.fixes[:1] for one in diagnosis.root_causes if one.severity is Severity.ERROR)
        hopeless = (found for found in fixes if found and found[0].action is Action.REPLACE_HARDWARE)
        self.dead_end = self.dead_end or next(hopeless, ())

    def _planned(self, found: Diagnosis) -> Iterator[tuple[Fix, ...]]:
        """Yield the steps to what the planner finds, with the smallest change first: other packages, another driver, WSL."""
        of_machine = [fixes for fixes in ways(first_error(found).fixes) if any(fix.driver for fix in fixes)]
        further = [steps for steps in self._machines if steps not in of_machine]
        of_system = [(USE_WSL,)] if self._combination.os == "windows" else []
        for steps in ((), *of_machine, *further, *of_system):
            for other in self._plan(applied(self._combination, steps)):
                every = (*steps, *self._to(other, applied(self._combination, steps)))
                if self.cures(every):
                    yield every

    def _plan(self, base: Combination) -> Iterator[Environment | MachineChange]:
        question = Question(
            requirements=base.requirements,
            machine=machine(base, self._matrix),
            python=base.python or "",
            constraints=base.constraints,
            pythons=base.pythons.versions if base.pythons is not None else (),
        )
        try:
            plan = propose(question, self._matrix).plan
        except UsageError:
            return
        yield from filter(None, (plan.environment, plan.with_driver, plan.nearest))

    def _to(self, found: Environment | MachineChange, base: Combination) -> tuple[Fix, ...]:
        """Return the steps that lead from `base` to what the planner found."""
        here = found if isinstance(found, Environment) else found.environment
        pins = {one.name: pin.requirement for pin in here.pins if (one := requirement(pin.requirement)) is not None}
        stated = (one.name for one in map(requirement, self._combination.requirements) if one is not None)
        gone = tuple(name for name in stated if name not in pins and name != "numpy")
        change = Fix("", installs=tuple(pins.values()), removes=gone, python=here.python if self._combination.python else "")
        after = applied(base, (change,))
        packages = self._steps.packages(after if after != base else msgspec.structs.replace(after, python=here.python))
        return packages if isinstance(found, Environment) else (_driver(found), *packages)


def first_error(found: Diagnosis) -> Finding:
    """Return the first root cause of a broken diagnosis."""
    return next(one for one in found.root_causes if one.severity is Severity.ERROR)


def _driver(change: MachineChange) -> Fix:
    title = f"Go back to driver branch {change.driver}" if change.older else f"Update the NVIDIA driver to {change.driver} or newer"
    return Fix(f"{title}: {DOWNLOADS}", needs=(DOWNLOAD, REBOOT), action=Action.UPDATE_DRIVER, driver=change.driver)
