"""Fixes for requirements on one package that exclude each other: another release of a package that states one of them."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.nearness import nearness
from gpudoctor.derive.packages import Demand, RequirementClash
from gpudoctor.derive.specifiers import contradict, requirement
from gpudoctor.diagnose.advice.constraints import Constraints, constraints
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.findings import Action, Fix, FixKind
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease, Matrix

_SEPARATE = Fix("Choose compatible releases, or give each framework its own environment.", action=Action.REINSTALL_PACKAGE)


def agreeing(contradiction: RequirementClash, machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix that installs the nearest release of a stated package whose requirement agrees with the others; frameworks last."""
    here = constraints(machine)
    stated = [demand for demand in contradiction.demands if demand.by.requirement and demand.by.version]
    for demand in sorted(stated, key=lambda one: framework_of(one.by.name) is not None):
        found = next(_agreeing(demand, contradiction, here), None)
        if found is not None:
            own, extras = demand.by, f"[{','.join(demand.by.extras)}]" if demand.by.extras else ""
            title = f"Install {own.name} {found.release}, the nearest release that accepts the same {contradiction.name}"
            pin = f"{own.name}{extras}=={found.release}"
            return (
                install_fix(title, machine.observed.python, pin),
                Fix(_SEPARATE.title, kind=FixKind.INSTEAD, action=_SEPARATE.action),
            )
    return (_SEPARATE,)


def _agreeing(demand: Demand, contradiction: RequirementClash, here: Constraints) -> Iterator[FrameworkRelease]:
    """Yield the installable releases of a package that agree with what the others require, nearest first."""
    others = [one.requirement.specifier for one in contradiction.demands if one.by != demand.by]
    rows = {str(row.release): row for row in here.releases(demand.by.name) if str(row.release) != demand.by.version}
    for release in sorted(rows, key=lambda release: nearness(release, demand.by.version)):
        own = _of(rows[release], contradiction.name, here.machine.matrix)
        if not contradict((*others, *own)):
            yield rows[release]


def _of(row: FrameworkRelease, name: str, matrix: Matrix) -> Iterator[str]:
    """Yield the specifiers of what a release requires of a package without an extra."""
    texts = (*row.requires, *(other.requirement for other in matrix.other_requirements(row.distribution, row.release)))
    for one in map(requirement, texts):
        if one is not None and one.name == name and "extra" not in one.marker:
            yield one.specifier
