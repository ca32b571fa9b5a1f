"""Fixes for requirements on one package that exclude each other: another release of a package that states one of them."""

from __future__ import annotations

from gpudoctor.derive import EnvironmentView, Stack
from gpudoctor.derive.nearness import nearness
from gpudoctor.derive.packages import RequirementClash
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

_FAR = 1 << 20
"""More releases than a package has."""


def agreeing(contradiction: RequirementClash, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that installs the nearest release of a stated package whose requirements agree with the others; frameworks last."""
    stated = {demand.by.name: demand.by for demand in contradiction.demands if demand.by.requirement and demand.by.version}.values()
    why = f"the nearest release that accepts the same {contradiction.name}"
    add_ons = [_release(own, environment, why) for own in stated if framework_of(own.name) is None]
    of_frameworks = (
        _build_that_runs(own, environment, why) or _release(own, environment, why)[1] for own in stated if framework_of(own.name)
    )
    nearest = min(add_ons, key=lambda one: one[0], default=(0, None))[1]
    fix = nearest or next(filter(None, of_frameworks), None)
    return (_SEPARATE,) if fix is None else (fix, Fix(_SEPARATE.title, kind=FixKind.INSTEAD, action=_SEPARATE.action))


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


def _release(own: Distribution, environment: EnvironmentView, why: str) -> tuple[int, Fix | None]:
    """Return the fix that installs a release, whether it runs here or not, and how many releases are nearer; a great number without a fix."""
    machine = environment.machine
    rows = {str(row.release): row for row in constraints(machine).releases(own.name) if str(row.release) != own.version}
    nearest = sorted(rows, key=lambda release: nearness(release, own.version))
    place, found = next(((place, one) for place, one in enumerate(nearest) if _agrees(rows[one], own, environment.stack)), (_FAR, ""))
    extras = f"[{','.join(own.extras)}]" if own.extras else ""
    title = f"Install {own.name} {found}, {why}"
    return place, install_fix(title, machine.observed.python, f"{own.name}{extras}=={found}") if found else None


def _agrees(row: FrameworkRelease, own: Distribution, stack: Stack) -> bool:
    """Return whether a release suits what is stated and what the other stated packages require, of it and of what it requires."""
    demands = (*stack.bounds.values(), *(demand for demand in stack.demands if stack.stated(demand.by)))
    others = [(demand.requirement.name, demand.requirement.specifier) for demand in demands if demand.by.name != own.name]
    accepted = all(satisfies(str(row.release), specifier) is not False for name, specifier in others if name == own.name)
    return accepted and not any(
        contradict((wanted.specifier, *(specifier for name, specifier in others if name == wanted.name)))
        for wanted in stack.required(row, own.extras)
    )
