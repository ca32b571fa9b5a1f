"""Finds what to change about an assumed environment to have one that works: as little as possible."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.derive.specifiers import parse_requirement, parse_requirements
from gpudoctor.diagnose.advice.driver import DOWNLOAD_PAGE
from gpudoctor.diagnose.advice.system import USE_WSL
from gpudoctor.errors import UsageError
from gpudoctor.findings import DOWNLOAD, REBOOT, Action, Diagnosis, Finding, Fix, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied_fixes import combination_after, ways_to_fix
from gpudoctor.plan.assumed_machine import assumed_machine
from gpudoctor.plan.change_size import size_of_change
from gpudoctor.plan.checker import count_overwrites
from gpudoctor.plan.fix_steps import CombinationSteps, is_of_packages
from gpudoctor.plan.model import Combination
from gpudoctor.plan.proposal import PlanQuestion, proposed_plan
from gpudoctor.plan.remedies import open_bounds
from gpudoctor.report.plan import Environment, MachineChange, Plan

_MAX_CHECKS = 16
"""Combinations that are checked before the planner is asked."""
_MAX_DEPTH = 4
"""Findings that are fixed one after another."""
_SEPARATE_ENVIRONMENTS = Fix("Give each framework its own environment: no releases that can share one were found.", needs=(DOWNLOAD,))
_UNSURE_SUFFIX = " (could not be checked in full)"


def first_error_cause(found: Diagnosis) -> Finding | None:
    """Return the first root cause that is an error; None if there is none."""
    return next((cause for cause in found.root_causes if cause.severity is Severity.ERROR), None)


def error_counts(found: Diagnosis) -> Counter[str]:
    """Return how often each code is the root cause of an error."""
    return Counter(cause.code for cause in found.root_causes if cause.severity is Severity.ERROR)


def is_worse(before: Diagnosis, after: Diagnosis) -> bool:
    """Return whether something else could not be checked after a change, or packages overwrite each other that did not."""
    return bool(_unchecked_names(after) - _unchecked_names(before)) or count_overwrites(after.findings) > count_overwrites(before.findings)


def _unchecked_names(found: Diagnosis) -> set[str]:
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
        left: Callable[[Diagnosis], Finding | None] = first_error_cause,
        beside: tuple[str, ...] = (),
    ) -> None:
        self._combination = combination
        self._found = found
        self._matrix = matrix
        self._check = check
        self._left = left
        """Returns the finding that is to be fixed next; None if there is none."""
        self._steps = CombinationSteps(combination, matrix, beside, self._environment_for)
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
        return self.steps_of_findings() or next(self._planned_steps(), ())

    def steps_of_findings(self) -> tuple[Fix, ...]:
        """Return the steps by the fixes of the findings alone; () if these do not lead there."""
        return self._composed_steps(self._steps_one_by_one())

    def unsure_steps(self) -> tuple[Fix, ...]:
        """Return steps that may lead to a combination that works, and say so; () if none is known."""
        steps = self._composed_steps(self._unsure)
        return (*(msgspec.structs.replace(step, title=f"{step.title}{_UNSURE_SUFFIX}") for step in steps[:1]), *steps[1:])

    def _composed_steps(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        return self.completed(self._needed_steps(self._steps.merged_steps(fixes))) if fixes else ()

    def completed(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the same steps with commands that install all that was stated, and what keeps an installer from newer packages than these run with."""
        steps = self._steps.completed(fixes)
        if not any(step.installs for step in steps):
            return steps
        then = self._diagnosis_after(steps)
        bounds = tuple(open_bounds(then.root_causes)) if then is not None else ()
        if then is None or not bounds:
            return steps
        within = self._steps.with_bounds(bounds, steps)
        bounded = self._diagnosis_after(within)
        return within if bounded is not None and not error_counts(bounded) - error_counts(then) else steps

    def _diagnosis_after(self, steps: tuple[Fix, ...]) -> Diagnosis | None:
        """Return what is found after these steps; None if what they install contradicts what was stated."""
        try:
            return self._check(combination_after(self._combination, steps))
        except UsageError:
            return None

    def _needed_steps(self, steps: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the steps without those that later ones made unnecessary, such as a newer C library for a release that is replaced."""
        fewer = (tuple(other for other in steps if other is not step) for step in steps if len(steps) > 1)
        enough = next((rest for rest in fewer if self.is_cure(rest)), None)
        return steps if enough is None else self._needed_steps(enough)

    def smallest_first(self, found: list[tuple[Fix, ...]]) -> list[tuple[Fix, ...]]:
        """Return ways to fix a finding with the smallest change first; as they are if one changes the machine, which cannot be compared."""
        if len(found) < 2 or not all(is_of_packages(fix) for fixes in found for fix in fixes):
            return found
        return sorted(found, key=self._size_of_change)

    def _size_of_change(self, fixes: tuple[Fix, ...]) -> tuple[int, ...]:
        whole = self._steps.completed(fixes)
        return size_of_change(whole, self._combination, combination_after(self._combination, whole))

    def is_cure(self, fixes: tuple[Fix, ...]) -> bool:
        """Return whether nothing is left to be fixed after these fixes, and nothing is worse."""
        after = combination_after(self._combination, fixes)
        then = self._diagnosis_after(fixes) if after != self._combination else None
        return then is not None and self._is_cured(then, fixes)

    def _is_cured(self, then: Diagnosis, fixes: tuple[Fix, ...]) -> bool:
        if self._left(then) is not None or (self._found.summary.frameworks and not then.summary.frameworks):
            return False
        if not is_worse(self._found, then):
            return True
        if count_overwrites(then.findings):
            self.apart = self.apart or (*(fix for fix in fixes if fix.driver or fix.os), _SEPARATE_ENVIRONMENTS)
        else:
            self._unsure = self._unsure or fixes
        return False

    def _steps_one_by_one(self) -> tuple[Fix, ...]:
        """Return the fixes of the first finding, then those of the first that is left, and so on; the fewest steps that suffice."""
        left: deque[tuple[Combination, Diagnosis, tuple[Fix, ...]]] = deque([(self._combination, self._found, ())])
        seen = [self._combination]
        while left and len(seen) < _MAX_CHECKS:
            before, diagnosis, taken = left.popleft()
            self._note(diagnosis)
            finding = self._left(diagnosis)
            enough: list[tuple[Fix, ...]] = []
            for fixes in ways_to_fix(finding.fixes if finding else ()):
                after = combination_after(before, fixes)
                if after in seen:
                    continue
                seen.append(after)
                try:
                    then = self._check(after)
                except UsageError:
                    continue
                if self._is_cured(then, (*taken, *fixes)):
                    enough.append((*taken, *fixes))
                    continue
                if all(fix.driver for fix in (*taken, *fixes)):
                    self._machines.append(fixes[-1:])
                if len(taken) < _MAX_DEPTH:
                    left.append((after, then, (*taken, *fixes)))
            if enough:
                return self.smallest_first(enough)[0]
        return ()

    def _note(self, diagnosis: Diagnosis) -> None:
        """Remember that only another machine helps against an error."""
        fixes = (cause.fixes[:1] for cause in diagnosis.root_causes if cause.severity is Severity.ERROR)
        hopeless = (found for found in fixes if found and found[0].action is Action.REPLACE_HARDWARE)
        self.dead_end = self.dead_end or next(hopeless, ())

    def _planned_steps(self) -> Iterator[tuple[Fix, ...]]:
        """Yield the steps to what the planner finds, with the smallest change first: other packages, another driver, WSL."""
        first = first_error_cause(self._found)
        of_machine = [fixes for fixes in ways_to_fix(first.fixes if first else ()) if any(fix.driver for fix in fixes)]
        further = [steps for steps in self._machines if steps not in of_machine]
        of_system = [(USE_WSL,)] if self._combination.os == "windows" else []
        for steps in ((), *of_machine, *further, *of_system):
            for other in self._planned_environments(combination_after(self._combination, steps)):
                every = (*steps, *self._steps_to(other, combination_after(self._combination, steps)))
                if self.is_cure(every):
                    yield every

    def _planned_environments(self, base: Combination) -> Iterator[Environment | MachineChange]:
        plan = self._proposed_plan(base, explain=True)
        if plan is not None:
            yield from filter(None, (plan.environment, plan.with_driver, plan.nearest))

    def _environment_for(self, base: Combination) -> Environment | None:
        plan = self._proposed_plan(base, explain=False)
        return plan.environment if plan is not None else None

    def _proposed_plan(self, base: Combination, *, explain: bool) -> Plan | None:
        if not base.requirements:
            return None
        question = PlanQuestion(
            requirements=base.requirements,
            machine=assumed_machine(base, self._matrix),
            python=base.python or "",
            constraints=base.constraints,
            pythons=base.pythons.versions if base.pythons is not None else (),
            intact=True,
        )
        try:
            return proposed_plan(question, self._matrix, explain=explain).plan
        except UsageError:
            return None

    def _steps_to(self, found: Environment | MachineChange, base: Combination) -> tuple[Fix, ...]:
        """Return the steps that lead from `base` to what the planner found."""
        here = found if isinstance(found, Environment) else found.environment
        planned = ((pin.requirement, parse_requirement(pin.requirement)) for pin in here.pins)
        pins = {wanted.name: text for text, wanted in planned if wanted is not None and (wanted.specifier or text in base.requirements)}
        stated = (wanted.name for wanted in parse_requirements(self._combination.requirements))
        gone = tuple(name for name in stated if name not in pins and name != "numpy")
        change = Fix("", installs=tuple(pins.values()), removes=gone, python=here.python if self._combination.python else "")
        after = combination_after(base, (change,))
        packages = self._steps.packages(after if after != base else msgspec.structs.replace(after, python=here.python))
        return packages if isinstance(found, Environment) else (_driver_fix(found), *packages)


def _driver_fix(change: MachineChange) -> Fix:
    title = f"Go back to driver branch {change.driver}" if change.older else f"Update the NVIDIA driver to {change.driver} or newer"
    return Fix(f"{title}: {DOWNLOAD_PAGE}", needs=(DOWNLOAD, REBOOT), action=Action.UPDATE_DRIVER, driver=change.driver)
