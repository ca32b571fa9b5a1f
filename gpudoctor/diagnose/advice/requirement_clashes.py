"""Fixes for requirements on one package that exclude each other: another release of a package that states one of them."""

from __future__ import annotations

from gpudoctor.derive import EnvironmentView, Stack
from gpudoctor.derive.demands import RequirementClash
from gpudoctor.derive.nearness import nearness_order
from gpudoctor.derive.specifiers import are_contradictory, satisfies
from gpudoctor.diagnose.advice.constraints import constraints
from gpudoctor.diagnose.advice.installing import install_pick
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.findings import Action, Fix, FixKind
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.builds import GpuBuild
from gpudoctor.snapshot import Distribution

_SEPARATE_ENVIRONMENTS = Fix("Choose compatible releases, or give each framework its own environment.", action=Action.REINSTALL_PACKAGE)
_OR_SEPARATE_ENVIRONMENTS = Fix(_SEPARATE_ENVIRONMENTS.title, kind=FixKind.INSTEAD, action=_SEPARATE_ENVIRONMENTS.action)


def install_agreeing_release(contradiction: RequirementClash, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that installs the nearest release of a stated package whose requirements agree with the others; frameworks last."""
    stated = {demand.by.name: demand.by for demand in contradiction.demands if demand.by.requirement and demand.by.version}.values()
    why = f"the nearest release that accepts the same {contradiction.name}"
    add_ons = [
        found for own in stated if not framework_of(own.name) and (found := _install_nearest_agreeing(own, environment, why)) is not None
    ]
    if add_ons:
        return (min(add_ons, key=lambda found: found[0])[1], _OR_SEPARATE_ENVIRONMENTS)
    for own in stated:
        fix = _install_runnable_build(own, environment, why)
        if fix is not None:
            return (fix, _OR_SEPARATE_ENVIRONMENTS)
        found = _install_nearest_agreeing(own, environment, why)
        if found is not None:
            return (found[1], _OR_SEPARATE_ENVIRONMENTS)
    return (_SEPARATE_ENVIRONMENTS,)


def _install_runnable_build(own: Distribution, environment: EnvironmentView, why: str) -> Fix | None:
    """Return the fix that installs a build of a framework with kernels for every GPU and a CUDA that the driver supports.

    None if there is none, and if the framework was asked for without the extra that installs its CUDA.
    """
    if framework_of(own.name) != own.name or not (own.extras or spec_of(own.name).wheel_index):
        return None
    machine, stack = environment.machine, environment.stack

    def suits(build: GpuBuild) -> bool:
        found = machine.matrix.resolve(own.name, build.version, build.release.platform)
        return found.row is not None and found.nvidia_known and _fits_other_packages(found.row, own, stack)

    found = pick_release(machine, own.name, near=own.version.partition("+")[0], suits=suits)
    return None if found is None else install_pick(machine, own.name, found, title=f"Install {found.name}, {why}")


def _install_nearest_agreeing(own: Distribution, environment: EnvironmentView, why: str) -> tuple[int, Fix] | None:
    """Return how many releases are nearer than the first that agrees, and the fix that installs it, whether it runs here or not; None if none agrees."""
    machine = environment.machine
    rows = {str(row.release): row for row in constraints(machine).releases(own.name) if str(row.release) != own.version}
    nearest = sorted(rows, key=lambda release: nearness_order(release, own.version))
    for place, release in enumerate(nearest):
        if _fits_other_packages(rows[release], own, environment.stack):
            return place, install_fix(f"Install {own.name} {release}, {why}", machine.observed.python, own.pinned(release))
    return None


def _fits_other_packages(row: FrameworkRelease, own: Distribution, stack: Stack) -> bool:
    """Return whether a release suits what is stated and what the other stated packages require, of it and of what it requires."""
    demands = (*stack.bounds.values(), *(demand for demand in stack.demands if stack.stated(demand.by)))
    others = [(demand.requirement.name, demand.requirement.specifier) for demand in demands if demand.by.name != own.name]
    accepted = all(satisfies(str(row.release), specifier) is not False for name, specifier in others if name == own.name)
    return accepted and not any(
        are_contradictory((wanted.specifier, *(specifier for name, specifier in others if name == wanted.name)))
        for wanted in stack.required(row, own.extras)
    )
