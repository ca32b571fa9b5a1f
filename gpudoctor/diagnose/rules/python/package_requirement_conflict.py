from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EnvironmentView
from gpudoctor.derive.packages import Violation
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.lacking import lacking
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.advice.requirements import (
    NVIDIA_PACKAGES,
    accepted,
    as_evidence,
    contradictory,
    requirements,
    rule_for,
    unmet_requirements,
)
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Fix, Impact, Problem, Rung, Severity
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import Distribution


@rule("GD609", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
def package_requirement_conflict(environment: EnvironmentView) -> Iterator[Problem]:
    """Package version violates another package's requirement."""
    stack = environment.stack
    violations = [violation for violation in stack.violations if rule_for(violation) == package_requirement_conflict.name]
    for found in dict.fromkeys(violation.found for violation in violations):
        of_package = [violation for violation in violations if violation.found == found]
        yield Problem(
            message=unmet_requirements(of_package, stack),
            severity=Severity.ERROR if stack.supposed else None,
            evidence=(as_evidence(found), *requirements(of_package)),
            fixes=_install_within_bounds(found, of_package, environment),
        )
    for contradiction in stack.contradictions:
        if not contradiction.name.startswith(NVIDIA_PACKAGES):
            yield contradictory(contradiction, environment)
    yield from lacking(environment)


def _install_within_bounds(found: Distribution, violations: list[Violation], environment: EnvironmentView) -> tuple[Fix, ...]:
    requirement = accepted(violations)
    specifier = requirement.removeprefix(found.name)
    machine = environment.machine
    if stack_of(found.name) == found.name and pick(machine, found.name, accepts=specifier) is not None:
        return install_framework(machine, found.name, accepts=specifier)
    return (install_fix(f"Install {requirement}", environment.observed.python, requirement),)
