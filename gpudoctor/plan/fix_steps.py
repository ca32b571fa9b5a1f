"""Composes fixes into the steps that a user carries out: what their commands do is what was checked."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpudoctor.derive.pythons import ordered_pythons
from gpudoctor.derive.specifiers import Requirement, only_version, parse_requirements
from gpudoctor.diagnose.advice.packages import install_command
from gpudoctor.findings import DOWNLOAD, Action, Fix, FixKind
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import spec_of, stack_of
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied_fixes import combination_after
from gpudoctor.plan.assumed_machine import assumed_machine
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.plan.commands import BUILD_TOOLS, COMPILED_NOTE, built_against_framework, install_commands
from gpudoctor.plan.model import Combination
from gpudoctor.plan.usable_pythons import usable_pythons
from gpudoctor.report.plan import Environment
from gpudoctor.snapshot import Missing, Python
from gpudoctor.snapshot.distributions import name_with_extras


class CombinationSteps:
    """Composes the steps that change one combination."""

    def __init__(
        self,
        combination: Combination,
        matrix: Matrix,
        beside: tuple[str, ...],
        environment_for: Callable[[Combination], Environment | None],
    ) -> None:
        self._combination = combination
        self._matrix = matrix
        self._beside = beside
        """Stated requirements on packages that no table lists: they go along into a new environment."""
        self._environment_for = environment_for
        """Returns what works for a combination on its machine."""

    def completed(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the same steps; where one creates an environment, or needs another Python than the rest, it installs all that was stated.

        Otherwise also the other releases of what was left open that these steps lead to.
        """
        after = combination_after(self._combination, fixes)
        whole = _requirement_names((*after.requirements, *self._beside))
        created = [_requirement_names(fix.installs) for fix in fixes if fix.python]
        python = after.python if created else "" if after.python else self._python_to_create(after)
        if whole in created:
            return fixes
        if not python:
            return self.with_bounds(self._moved(after), fixes) if any(fix.installs for fix in fixes) else fixes
        steps = (*self._without_packages(fixes), *self._package_steps(after, python))
        return tuple(msgspec.structs.replace(fix, kind=fixes[0].kind) for fix in steps)

    def _moved(self, after: Combination) -> tuple[str, ...]:
        """Return the pins of what was left open and would be installed in another release now: a command that leaves it out keeps the old one."""
        open_ = {one.name: one for one in parse_requirements(after.requirements) if only_version(one.specifier) is None}
        before, then = (self._versions(combination) for combination in (self._combination, after))
        return tuple(
            f"{name_with_extras(name, one.extras)}=={then[name]}"
            for name, one in open_.items()
            if name in before and name in then and before[name] != then[name]
        )

    def _versions(self, combination: Combination) -> dict[str, str]:
        packages = snapshot_of_combination(combination, self._matrix, "").packages
        return {} if isinstance(packages, Missing) else {one.name: one.version for one in packages.distributions if one.requirement}

    def with_bounds(self, bounds: tuple[str, ...], steps: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the same steps, whose last one that installs something also installs these bounds."""
        if not bounds:
            return steps
        after = combination_after(self._combination, (*steps, Fix("", installs=bounds)))
        whole = (*self._without_packages(steps), *self.packages(after))
        return tuple(msgspec.structs.replace(step, kind=steps[0].kind) for step in whole)

    def merged_steps(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the same steps with one for all packages, and one for the driver."""
        rest = self._without_packages(fixes)
        packages = tuple(fix for fix in fixes if is_of_packages(fix))
        is_one_step = len(packages) < 2 and not any(fix.os for fix in rest)
        steps = (*rest, *(packages if is_one_step else self.packages(combination_after(self._combination, fixes))))
        return tuple(msgspec.structs.replace(fix, kind=FixKind.FIX) for fix in steps)

    def packages(self, after: Combination) -> tuple[Fix, ...]:
        """Return the step that installs what differs, or everything into a new environment where Python or the system does.

        No step if the changes cancel each other out.
        """
        return self._package_steps(after, self._python_to_create(after))

    def _without_packages(self, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
        """Return the other steps, and of those that change the driver the last."""
        drivers = [fix for fix in fixes if fix.driver]
        return tuple(fix for fix in fixes if not is_of_packages(fix) and (not fix.driver or fix is drivers[-1]))

    def _python_to_create(self, after: Combination) -> str:
        """Return the Python of the environment to create; "" if these packages can be installed where the stated ones are."""
        if after.python:
            return after.python if after.python != self._combination.python or after.os != self._combination.os else ""
        before, then = (self._pythons(combination) for combination in (msgspec.structs.replace(self._combination, os=after.os), after))
        if not then or (before and before <= then):
            return ""
        planned = self._environment_for(after)
        return planned.python if planned is not None and planned.python in then else ordered_pythons(then)[-1]

    def _pythons(self, combination: Combination) -> frozenset[str] | None:
        return usable_pythons(snapshot_of_combination(combination, self._matrix, ""), self._matrix)

    def _package_steps(self, after: Combination, python: str) -> tuple[Fix, ...]:
        """Return the step that installs everything into a new environment with this Python; what differs, in place, if that is ""."""
        before = {one.name: one.text for one in parse_requirements(self._combination.requirements)}
        wanted = {one.name: one for one in parse_requirements(after.requirements)}
        differ = [one for name, one in wanted.items() if one.text != before.get(name)]
        gone = tuple(name for name in before if name not in wanted)
        if not differ and not (python and wanted):
            return (Fix(f"Leave out {joined_words(gone)}.", removes=gone, action=Action.REINSTALL_PACKAGE),) if gone else ()
        pins = (*(one.text for one in wanted.values()), *self._beside) if python else tuple(one.text for one in differ)
        index = next((_package_index(one) for one in differ if "+" in one.specifier), "")
        names = joined_words(map(_requirement_label, pins))
        title = f"Create an environment with Python {python} and install {names} there" if python else f"Install {names}"
        built = built_against_framework(pins, self._matrix)
        told = f"; {COMPILED_NOTE.format(joined_words(map(_requirement_label, sorted(built))))}" if built else ""
        if python:
            command = install_commands(pins, python, index, "", built=built, windows=after.os == "windows").pip
        else:
            command = _install_command(assumed_machine(after, self._matrix).python, pins, built, replace=gone, index=index)
        step = Fix(
            f"{title}{f', without {joined_words(gone)}' if gone else ''}{told}",
            command,
            (DOWNLOAD,),
            installs=pins,
            removes=gone,
            python=python,
        )
        return (step,)


def _install_command(
    python: Python | Missing, pins: tuple[str, ...], built: frozenset[str], *, replace: tuple[str, ...], index: str
) -> str:
    """Return the command that installs pins; what is built against a framework follows, where its build finds that."""
    later = tuple(pin for pin in pins if pin in built)
    ready = tuple(pin for pin in pins if pin not in built)
    first, *rest = filter(None, (ready, BUILD_TOOLS if later else (), ("--no-build-isolation", *later) if later else ()))
    steps = (install_command(python, *first, replace=replace, extra_index=index), *(install_command(python, *words) for words in rest))
    return " && ".join(steps)


def is_of_packages(fix: Fix) -> bool:
    """Return whether a fix changes the packages of an environment."""
    return bool(fix.installs or fix.removes or fix.python)


def _requirement_names(requirements: tuple[str, ...]) -> set[str]:
    return {wanted.name for wanted in parse_requirements(requirements)}


def _package_index(wanted: Requirement) -> str:
    """Return the package index with the builds of a local version; "" if that is PyPI."""
    url = spec_of(stack_of(wanted.name) or "").wheel_index
    return f"{url}/{wanted.specifier.partition('+')[2]}" if url else ""


def _requirement_label(text: str) -> str:
    """Return a requirement in words: "torch 2.7.1+cu128", "numpy<2"."""
    return text.replace("==", " ", 1)
