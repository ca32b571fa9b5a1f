"""The finding about a package that another one needs beside a framework and that nothing installs."""

from __future__ import annotations

from gpudoctor.derive import EnvironmentView
from gpudoctor.derive.companions import MissingCompanion
from gpudoctor.derive.companions import missing_companions as found_lacking
from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.constraints import constraints
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.findings import Evidence, Fix, Problem, Problems, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.citations import citation


def missing_package_problems(environment: EnvironmentView) -> Problems:
    """Yield a problem for each: an error if the package is planned for this framework alone, a note if only a part of it fails."""
    stack = environment.stack
    for one in found_lacking(stack):
        frameworks = {framework_of(name) for name in stack.distributions} - {None}
        only_here = not one.row.part and len(frameworks) == 1
        part = f"{one.row.part} of {one.by.label}" if one.row.part else one.by.label
        verb = "need" if one.row.part else "needs"
        yield Problem(
            message=f"{part} {verb} {one.name} beside {one.beside.label}, and no package here requires it.",
            title="A package that another one needs is missing",
            severity=Severity.NOTE if not only_here else Severity.ERROR if stack.supposed else None,
            evidence=(Evidence(f"{one.by.label} imports", one.name, citation(one.row.source, one.by.label)),),
            fixes=(_install_missing(one, environment),),
        )


def newest_accepting_release(environment: EnvironmentView, distribution: str) -> str:
    """Return the newest installable release of a distribution that accepts the packages of the environment; "" if each excludes one.

    One that requires none of these packages accepts them only where no other release does.
    """
    rows = constraints(environment.machine).releases(distribution)
    told = [(answers, row.release) for row in rows if False not in (answers := _requirement_checks(row, environment.stack))]
    return str(max(((bool(answers), release) for answers, release in told), default=(False, ""))[1])


def _install_missing(one: MissingCompanion, environment: EnvironmentView) -> Fix:
    release, python = newest_accepting_release(environment, one.name), environment.observed.python
    if not release:
        return install_fix(f"Install {one.name}", python, one.row.needs[0])
    return install_fix(f"Install {one.name} {release}", python, f"{one.name}=={release}")


def _requirement_checks(row: FrameworkRelease, stack: Stack) -> list[bool]:
    """Return, for each requirement of a release on a package of the environment, whether that meets it."""
    pairs = ((wanted, stack.distributions.get(wanted.name)) for wanted in stack.required(row, ()))
    return [satisfies(found.version, wanted.specifier) is not False for wanted, found in pairs if found is not None]
