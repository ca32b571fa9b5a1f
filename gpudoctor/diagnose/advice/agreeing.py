"""Fixes for requirements on one package that exclude each other: another release of a package that states one of them."""

from __future__ import annotations

from gpudoctor.derive import EnvironmentView, Stack
from gpudoctor.derive.demands import RequirementClash
from gpudoctor.derive.nearness import nearness
from gpudoctor.derive.specifiers import contradict, satisfies
from gpudoctor.diagnose.advice.constraints import constraints
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.findings import Action, Fix, FixKind
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.builds import GpuBuild
from gpudoctor.snapshot import Distribution

_SEPARATE = Fix("Choose compatible releases, or give each framework its own environment.", action=Action.REINSTALL_PACKAGE)
_INSTEAD = Fix(_SEPARATE.title, kind=FixKind.INSTEAD, action=_SEPARATE.action)


def agreeing(contradiction: RequirementClash, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that installs the nearest release of a stated package whose requirements agree with the others; frameworks last."""
    stated = {demand.by.name: demand.by for demand in contradiction.demands if demand.by.requirement and demand.by.version}.values()
    why = f"the nearest release that accepts the same {contradiction.name}"
    add_ons = [found for own in stated if not framework_of(own.name) and (found := _release(own, environment, why)) is not None]
    if add_ons:
        return (min(add_ons, key=lambda found: found[0])[1], _INSTEAD)
    for own in stated:
        fix = _build_that_runs(own, environment, why)
        if fix is not None:
            return (fix, _INSTEAD)
        found = _release(own, environment, why)
        if found is not None:
            return (found[1], _INSTEAD)
    return (_SEPARATE,)


def _build_that_runs(own: Distribution, environment: EnvironmentView, why: str) -> Fix | None:
    """Return the fix that installs a build of a framework with kernels for every GPU and a CUDA that the driver supports.

    None if there is none, and if the framework was asked for without the extra that installs its CUDA.
    """
    if framework_of(own.name) != own.name or not (own.extras or spec_of(own.name).wheel_index):
        return None
    machine, stack = environment.machine, environment.stack

    def suits(build: GpuBuild) -> bool:
        found = machine.matrix.resolve(own.name, build.version, build.release.platform)
        return found.row is not None and found.nvidia_known and _agrees(found.row, own, stack)

    found = pick(machine, own.name, near=own.version.partition("+")[0], suits=suits)
    return None if found is None else install(machine, own.name, found, title=f"Install {found.name}, {why}")


def _release(own: Distribution, environment: EnvironmentView, why: str) -> tuple[int, Fix] | None:
    """Return how many releases are nearer than the first that agrees, and the fix that installs it, whether it runs here or not; None if none agrees."""
    machine = environment.machine
    rows = {str(row.release): row for row in constraints(machine).releases(own.name) if str(row.release) != own.version}
    nearest = sorted(rows, key=lambda release: nearness(release, own.version))
    for place, release in enumerate(nearest):
        if _agrees(rows[release], own, environment.stack):
            return place, install_fix(f"Install {own.name} {release}, {why}", machine.observed.python, own.pinned(release))
    return None


def _agrees(row: FrameworkRelease, own: Distribution, stack: Stack) -> bool:
    """Return whether a release suits what is stated and what the other stated packages require, of it and of what it requires."""
    demands = (*stack.bounds.values(), *(demand for demand in stack.demands if stack.stated(demand.by)))
    others = [(demand.requirement.name, demand.requirement.specifier) for demand in demands if demand.by.name != own.name]
    accepted = all(satisfies(str(row.release), specifier) is not False for name, specifier in others if name == own.name)
    return accepted and not any(
        contradict((wanted.specifier, *(specifier for name, specifier in others if name == wanted.name)))
        for wanted in stack.required(row, own.extras)
    )
