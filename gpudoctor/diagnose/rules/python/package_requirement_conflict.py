from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EnvironmentView, FrameworkView
from gpudoctor.derive.add_ons import add_ons
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.packages import Stack, source_of
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.damaged_files import module_file
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.lacking import lacking
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.advice.releases import nearest, newest, pick
from gpudoctor.diagnose.advice.requirements import (
    accepted,
    accepted_in_short,
    as_evidence,
    contradictory,
    needs_numpy_1,
    requirements,
    rule_for,
    unmet_requirements,
)
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.python.failed_import import failed_import
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.naming import agree, few, first
from gpudoctor.frameworks import NVIDIA_PACKAGES, framework_of, spec_of, stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Missing
from gpudoctor.snapshot.distributions import with_extras

_OF_VERSIONS = frozenset({"package-requirement-conflict", "numpy2-abi-mismatch", "protobuf-mismatch", "keras3-mismatch"})
"""What the error of an import may point to where the version of a required package is wrong."""


@rule("GD609", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "The framework imports a package that is missing or of another version.", Join.FRAMEWORK)
def package_requirement_conflict(environment: EnvironmentView) -> Problems:
    """Package version violates another package's requirement."""
    stack = environment.stack
    refused = _refused_by_symbols(environment)
    violations = [
        violation
        for violation in stack.violations
        if _is_own(violation, stack) and (violation.demand.by.name, violation.found.name) not in refused
    ]
    for found in dict.fromkeys(violation.found for violation in violations):
        of_package = [violation for violation in violations if violation.found == found]
        problem = Problem(
            message=unmet_requirements(of_package, stack),
            severity=Severity.ERROR if stack.supposed else None,
            evidence=(as_evidence(found), *requirements(of_package)),
            fixes=(*_install_within_bounds(found, of_package, environment), *_install_another(found, of_package, environment)),
        )
        yield _with_failed_import(problem, {violation.demand.by.name for violation in of_package}, environment)
    for contradiction in stack.contradictions:
        if not contradiction.name.startswith(NVIDIA_PACKAGES):
            yield contradictory(contradiction, environment)
    for violation in stack.chosen_against_a_patch:
        wanted = accepted([violation])
        yield Problem(
            message=f"{violation.demand.text}, but an installer chooses {violation.found.label}.",
            evidence=(as_evidence(violation.found), *requirements([violation])),
            fixes=(install_fix(f"Add {wanted}", environment.observed.python, wanted),),
        )
    yield from _absent(environment)
    yield from _hollow(environment)
    yield from _absent_further(environment)
    yield from _without_library(environment)
    yield from lacking(environment)


def _is_own(violation: Violation, stack: Stack) -> bool:
    """Return whether no more specific rule reports an unmet requirement; of what is planned, numpy2-abi-mismatch also reports other packages that compute."""
    compiled = stack.supposed and any(built.name == violation.demand.by.name for built, _ in stack.built_for_numpy_1)
    of_numpy = compiled and violation.found.name == "numpy" and needs_numpy_1(violation)
    return rule_for(violation) == package_requirement_conflict.name and not of_numpy


def _refused_by_symbols(environment: EnvironmentView) -> set[tuple[str, str]]:
    """Return the add-ons that lack functions of an installed framework, each with it: extension-abi-mismatch reports them, with the release that fits."""
    libraries = environment.machine.observed.libraries
    files = () if isinstance(libraries, Missing) else libraries.extensions
    return {
        (add_on.name, framework.observed.distribution)
        for framework in environment.frameworks
        for add_on in add_ons(framework.name, files)
        if add_on.lacks_functions
    }


def _with_failed_import(problem: Problem, demanding: set[str], environment: EnvironmentView) -> Problem:
    """Return the problem as the error that it is if a framework that demands another version was seen to fail at its import, for no other known cause."""
    of_them = (framework for framework in environment.frameworks if framework.name in map(stack_of, demanding))
    for framework in of_them if not environment.stack.supposed else ():
        failure = None if isinstance(framework.smoke_or_missing, Missing) else failed_import(framework)
        if failure is not None and failure.causes <= _OF_VERSIONS:
            return msgspec.structs.replace(
                problem,
                message=f"{problem.message} `import {framework.name}` fails: {failure.error}.",
                severity=Severity.ERROR,
                confidence=Confidence.LIKELY,
                only_for=framework.name,
                subject=framework.subject,
            )
    return problem


def _without_library(environment: EnvironmentView) -> Problems:
    """Yield that a planned framework lacks its library, which old releases only require for an extra: jaxlib before JAX 0.4.30."""
    stack = environment.stack
    wanted = {*stack.distributions, *stack.bounds, *(demand.requirement.name for demand in stack.demands)}
    for package in stack.distributions.values() if stack.supposed else ():
        row, plugin = stack.row(package), spec_of(framework_of(package.name) or "").plugin
        if row is None or plugin is None or plugin.library in wanted:
            continue
        by_the_way = not package.requirement and all(
            framework_of(one.by.name) for one in stack.demands if one.requirement.name == package.name
        )
        if not by_the_way and any(text.startswith(plugin.library) for text in row.requires):
            release = newest(environment.machine, plugin.library, accepts=f"<={package.version}", near=package.version)
            pin = f"{plugin.library}=={release}" if release else plugin.library
            yield Problem(
                message=f"{package.label} cannot be imported without {plugin.library}, which only its extras require.",
                evidence=(as_evidence(package), Evidence(plugin.library, "not stated", source_of(row))),
                fixes=(install_fix(f"Add {pin}", environment.observed.python, pin),),
            )


def _absent(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, what it requires and the environment does not have."""
    stack = environment.stack
    for by in dict.fromkeys(demand.by for demand in stack.absent):
        wanted = [demand.requirement for demand in stack.absent if demand.by == by]
        names = [requirement.name for requirement in wanted]
        framework = environment.framework_from(by.name)
        problem = Problem(
            message=f"{by.label} requires {few(names)}, which {agree(len(names), 'is', 'are')} not installed.",
            title=f"{spec_of(framework_of(by.name) or by.name).title} lacks packages that it requires",
            evidence=tuple(Evidence(f"{by.label} requires", requirement.text, by.where) for requirement in first(wanted)),
            fixes=(
                install_fix(
                    f"Install {few(names)}",
                    environment.observed.python,
                    *(f"{requirement.name}{requirement.specifier}" for requirement in wanted),
                ),
            ),
        )
        yield problem if framework is None else _with_failing_import(problem, framework)


def _hollow(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, the packages that it requires and whose files are gone; installers take them for installed."""
    stack = environment.stack
    for by in dict.fromkeys(demand.by for demand in stack.hollow):
        wanted = [demand.requirement for demand in stack.hollow if demand.by == by]
        pins = [f"{requirement.name}{requirement.specifier}" for requirement in wanted]
        labels = [pin.replace("==", " ") for pin in pins]
        framework = environment.framework_from(by.name)
        problem = Problem(
            message=f"{by.label} requires {few(labels)}. {agree(len(labels), 'Its files are', 'Their files are')} gone, and only metadata is left.",
            title=f"{spec_of(framework_of(by.name) or by.name).title} lacks packages that it requires",
            evidence=tuple(Evidence(label, "only its metadata is left", f"required by {by.label}") for label in first(labels)),
            fixes=(install_fix(f"Reinstall {few(labels)}", environment.observed.python, *pins, options=REINSTALL),),
        )
        yield problem if framework is None else _with_failing_import(problem, framework)


def _absent_further(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, a module that is not installed and that a package it requires imports: urllib3 of requests."""
    itself, risks = {demand.by.name for demand in (*environment.stack.absent, *environment.stack.hollow)}, set[str]()
    for framework in environment.frameworks:
        module = framework.absent_module if framework.observed.distribution not in itself else None
        version = environment.versions.get(module.owner) if module is not None else None
        if module is None or version is None:
            continue
        by = f"{module.owner} {version}"
        problem = Problem(
            message=f"{by} requires {module.path}, which is not installed.",
            title=f"{framework.spec.title} lacks packages that it requires",
            evidence=(Evidence(by, f"requires {module.path}", f"needed by {framework.label}"),),
            fixes=(install_fix(f"Install what {by} requires", environment.observed.python, by.replace(" ", "==")),),
        )
        if module.asked_by:
            yield msgspec.structs.replace(
                problem,
                message=f"`import {framework.name}` fails: {module_file(module.asked_by)} of {by} imports {module.path}, which is not installed.",
                severity=Severity.ERROR,
                only_for=framework.name,
                subject=framework.subject,
                evidence=(Evidence("imports", module.path, module.asked_by),),
            )
        elif not environment.keeps_other_requirements and module.path not in risks:
            risks.add(module.path)
            yield problem


def _with_failing_import(problem: Problem, framework: FrameworkView) -> Problem:
    """Return the problem as the error that it is if the framework imports a module that is absent."""
    module = framework.absent_module
    if module is None or not module.asked_by:
        return problem
    return msgspec.structs.replace(
        problem,
        message=f"{problem.message} `import {framework.name}` fails: {module_file(module.asked_by)} imports {module.path}.",
        evidence=(*problem.evidence, Evidence("imports", module.path, module.asked_by)),
        severity=Severity.ERROR,
        only_for=framework.name,
        subject=framework.subject,
    )


def _install_within_bounds(found: Distribution, violations: list[Violation], environment: EnvironmentView) -> tuple[Fix, ...]:
    requirement = accepted(violations)
    specifier = requirement.removeprefix(found.name)
    machine = environment.machine
    if stack_of(found.name) == found.name and pick(machine, found.name, accepts=specifier) is not None:
        return install_framework(machine, found.name, accepts=specifier)
    return (install_fix(f"Install {accepted_in_short(violations)}", environment.observed.python, requirement),)


def _install_another(found: Distribution, violations: list[Violation], environment: EnvironmentView) -> Iterator[Fix]:
    """Yield the fix that installs another release of the only package that does not accept what is there; a framework has fixes of its own."""
    demanding, stack = {violation.demand.by for violation in violations}, environment.stack
    by = demanding.pop()
    if demanding or stack_of(by.name) == by.name or not stack.stated(by):
        return
    release = nearest(environment.machine, by, lambda row: str(row.release) != by.version and _accepts(row, by, found, stack))
    if release:
        pin = f"{with_extras(by.name, by.extras)}=={release}"
        title = f"Install {by.name} {release}, which accepts {found.label}"
        yield install_fix(title, environment.observed.python, pin, kind=FixKind.INSTEAD)


def _accepts(row: FrameworkRelease, by: Distribution, found: Distribution, stack: Stack) -> bool:
    bounds = (requirement.specifier for requirement in stack.required(row, by.extras) if requirement.name == found.name)
    return all(satisfies(found.version, bound) is not False for bound in bounds)
