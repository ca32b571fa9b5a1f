"""Finds what to change about an assumed environment to have one that works: as little as possible."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.derive.specifiers import requirement, requirements_in
from gpudoctor.diagnose.advice.driver import DOWNLOADS
from gpudoctor.diagnose.advice.system import USE_WSL
from gpudoctor.errors import UsageError
from gpudoctor.findings import DOWNLOAD, REBOOT, Action, Diagnosis, Finding, Fix, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied import applied, ways
from gpudoctor.plan.checker import overwrites
from gpudoctor.plan.machine import machine
from gpudoctor.plan.model import Combination
from gpudoctor.plan.propose import Question, propose
from gpudoctor.plan.remedies import left_open
from gpudoctor.plan.size import size
from gpudoctor.plan.steps import Steps, is_of_packages
from gpudoctor.report.plan import Environment, MachineChange, Plan

_MOST = 16
"""Combinations that are checked before the planner is asked."""
_DEPTH = 4
"""Findings that are fixed one after another."""
_SEPARATE = Fix("Give each framework its own environment: no releases that can share one were found.", needs=(DOWNLOAD,))
_UNSURE = " (could not be checked in full)"


def error_left(found: Diagnosis) -> Finding | None:
    """Return the first root cause that is an error; None if there is none."""
    return next((cause for cause in found.root_causes if cause.severity is Severity.ERROR), None)


def errors(found: Diagnosis) -> Counter[str]:
    """Return how often each code is the root cause of an error."""
    return Counter(cause.code for cause in found.root_causes if cause.severity is Severity.ERROR)


def worsens(before: Diagnosis, after: Diagnosis) -> bool:
    """Return whether something else could not be checked after a change, or packages overwrite each other that did not."""
    return bool(_unsettled(after) - _unsettled(before)) or overwrites(after.findings) > overwrites(before.findings)


def _unsettled(found: Diagnosis) -> set[str]:
    """Return what was not checked: packages whatever their release."""
    return {unchecked.package or unchecked.what for unchecked in found.unchecked}


class Repair:
    """What makes a combination work: first the fixes of its findings, one after another, then another plan."""

    def __init__(
        self,
        combination: Combination,
        found: Diagnosis,
        matrix: Matrix,
        check: Callable[[Combination], Diagnosis],
        *,
        left: Callable[[Diagnosis], Finding | None] = error_left,
        beside: tuple[str, ...] = (),
    ) -> None:
        self._combination = combination
        self._found = found
        self._matrix = matrix
        self._check = check
        self._left = left
        """Returns the finding that is to be fixed next; None if there is none."""
        self._steps = Steps(combination, matrix, beside, self._environment_for)
        self._machines: list[tuple[Fix, ...]] = []
        """The drivers that were tried before any package was changed, each as the step that leads there."""
        self.dead_end: tuple[Fix, ...] = ()
        """What the steps that were tried led to where only another machine helps."""
        self._unsure: tuple[Fix, ...] = ()
        """The first steps after which nothing is known to be broken, but not everything could be checked."""
        self.apart: tuple[Fix, ...] = ()
        """The steps that help where packages work only by overwriting each other's files: another machine as needed, and several environments."""

    def steps(self) -> tuple[Fix, ...]:
        """Return the steps that lead to a combination that works; () if none is known."""
        return self.steps_of_findings() or next(self._planned(), ())

    def steps_of_findings(self) -> tuple[Fix, ...]:
        """Return the steps by the fixes of the findings alone; () if these do not lead there."""
        return self._composed(self._one_by_one())

    def unsure(self) -> tuple[Fix, ...]:
        """Return steps that may lead to a combination that works, and say so; () if none is known."""
        steps = self._composed(self._unsure)
        return (*(msgspec.structs.replace(step, title=f"{step.title}{_UNSURE}") for step in steps[:1]), *steps[1:])

    def _composed(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        return self.completed(self._needed(self._steps.merged(fixes))) if fixes else ()

    def completed(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the same steps with commands that install all that was stated, and what keeps an installer from newer packages than these run with."""
        steps = self._steps.completed(fixes)
        if not any(step.installs for step in steps):
            return steps
        then = self._after(steps)
        bounds = tuple(left_open(then.root_causes)) if then is not None else ()
        if then is None or not bounds:
            return steps
        within = self._steps.within(bounds, steps)
        bounded = self._after(within)
        return within if bounded is not None and not errors(bounded) - errors(then) else steps

    def _after(self, steps: tuple[Fix, ...]) -> Diagnosis | None:
        """Return what is found after these steps; None if what they install contradicts what was stated."""
        try:
            return self._check(applied(self._combination, steps))
        except UsageError:
            return None

    def _needed(self, steps: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the steps without those that later ones made unnecessary, such as a newer C library for a release that is replaced."""
        fewer = (tuple(other for other in steps if other is not step) for step in steps if len(steps) > 1)
        enough = next((rest for rest in fewer if self.cures(rest)), None)
        return steps if enough is None else self._needed(enough)

    def smallest_first(self, found: list[tuple[Fix, ...]]) -> list[tuple[Fix, ...]]:
        """Return ways to fix a finding with the smallest change first; as they are if one changes the machine, which cannot be compared."""
        if len(found) < 2 or not all(is_of_packages(fix) for fixes in found for fix in fixes):
            return found
        return sorted(found, key=self._size)

    def _size(self, fixes: tuple[Fix, ...]) -> tuple[int, ...]:
        whole = self._steps.completed(fixes)
        return size(whole, self._combination, applied(self._combination, whole))

    def cures(self, fixes: tuple[Fix, ...]) -> bool:
        """Return whether nothing is left to be fixed after these fixes, and nothing is worse."""
        after = applied(self._combination, fixes)
        then = self._after(fixes) if after != self._combination else None
        return then is not None and self._cured(then, fixes)

    def _cured(self, then: Diagnosis, fixes: tuple[Fix, ...]) -> bool:
        if self._left(then) is not None or (self._found.summary.frameworks and not then.summary.frameworks):
            return False
        if not worsens(self._found, then):
            return True
        if overwrites(then.findings):
            self.apart = self.apart or (*(fix for fix in fixes if fix.driver or fix.os), _SEPARATE)
        else:
            self._unsure = self._unsure or fixes
        return False

    def _one_by_one(self) -> tuple[Fix, ...]:
        """Return the fixes of the first finding, then those of the first that is left, and so on; the fewest steps that suffice."""
        left: deque[tuple[Combination, Diagnosis, tuple[Fix, ...]]] = deque([(self._combination, self._found, ())])
        seen = [self._combination]
        while left and len(seen) < _MOST:
            before, diagnosis, taken = left.popleft()
            self._note(diagnosis)
            finding = self._left(diagnosis)
            enough: list[tuple[Fix, ...]] = []
            for fixes in ways(finding.fixes if finding else ()):
                after = applied(before, fixes)
                if after in seen:
                    continue
                seen.append(after)
                try:
                    then = self._check(after)
                except UsageError:
                    continue
                if self._cured(then, (*taken, *fixes)):
                    enough.append((*taken, *fixes))
                    continue
                if all(fix.driver for fix in (*taken, *fixes)):
                    self._machines.append(fixes[-1:])
                if len(taken) < _DEPTH:
                    left.append((after, then, (*taken, *fixes)))
            if enough:
                return self.smallest_first(enough)[0]
        return ()

    def _note(self, diagnosis: Diagnosis) -> None:
        """Remember that only another machine helps against an error."""
        fixes = (cause.fixes[:1] for cause in diagnosis.root_causes if cause.severity is Severity.ERROR)
        hopeless = (found for found in fixes if found and found[0].action is Action.REPLACE_HARDWARE)
        self.dead_end = self.dead_end or next(hopeless, ())

    def _planned(self) -> Iterator[tuple[Fix, ...]]:
        """Yield the steps to what the planner finds, with the smallest change first: other packages, another driver, WSL."""
        first = error_left(self._found)
        of_machine = [fixes for fixes in ways(first.fixes if first else ()) if any(fix.driver for fix in fixes)]
        further = [steps for steps in self._machines if steps not in of_machine]
        of_system = [(USE_WSL,)] if self._combination.os == "windows" else []
        for steps in ((), *of_machine, *further, *of_system):
            for other in self._plan(applied(self._combination, steps)):
                every = (*steps, *self._to(other, applied(self._combination, steps)))
                if self.cures(every):
                    yield every

    def _plan(self, base: Combination) -> Iterator[Environment | MachineChange]:
        plan = self._proposed(base, explain=True)
        if plan is not None:
            yield from filter(None, (plan.environment, plan.with_driver, plan.nearest))

    def _environment_for(self, base: Combination) -> Environment | None:
        plan = self._proposed(base, explain=False)
        return plan.environment if plan is not None else None

    def _proposed(self, base: Combination, *, explain: bool) -> Plan | None:
        if not base.requirements:
            return None
        question = Question(
            requirements=base.requirements,
            machine=machine(base, self._matrix),
            python=base.python or "",
            constraints=base.constraints,
            pythons=base.pythons.versions if base.pythons is not None else (),
            intact=True,
        )
        try:
            return propose(question, self._matrix, explain=explain).plan
        except UsageError:
            return None

    def _to(self, found: Environment | MachineChange, base: Combination) -> tuple[Fix, ...]:
        """Return the steps that lead from `base` to what the planner found."""
        here = found if isinstance(found, Environment) else found.environment
        planned = ((pin.requirement, requirement(pin.requirement)) for pin in here.pins)
        pins = {wanted.name: text for text, wanted in planned if wanted is not None and (wanted.specifier or text in base.requirements)}
        stated = (wanted.name for wanted in requirements_in(self._combination.requirements))
        gone = tuple(name for name in stated if name not in pins and name != "numpy")
        change = Fix("", installs=tuple(pins.values()), removes=gone, python=here.python if self._combination.python else "")
        after = applied(base, (change,))
        packages = self._steps.packages(after if after != base else msgspec.structs.replace(after, python=here.python))
        return packages if isinstance(found, Environment) else (_driver(found), *packages)


def _driver(change: MachineChange) -> Fix:
    title = f"Go back to driver branch {change.driver}" if change.older else f"Update the NVIDIA driver to {change.driver} or newer"
    return Fix(f"{title}: {DOWNLOADS}", needs=(DOWNLOAD, REBOOT), action=Action.UPDATE_DRIVER, driver=change.driver)
