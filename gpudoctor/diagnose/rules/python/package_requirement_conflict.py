from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EnvironmentView, FrameworkView
from gpudoctor.derive.add_ons import installed_add_ons
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.packages import Stack, source_of
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.damaged_files import short_path
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.missing_packages import missing_package_problems
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.advice.releases import nearest_release, newest_release, pick_release
from gpudoctor.diagnose.advice.requirements import (
    accepted_requirement,
    clash_problem,
    distribution_evidence,
    needs_numpy_1,
    requirement_evidence,
    rule_for_violation,
    short_accepted_requirement,
    unmet_requirements_text,
)
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.python.failed_import import failed_import
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names, first_few, joined_words, singular_or_plural
from gpudoctor.frameworks import NVIDIA_PACKAGES, framework_of, spec_of, stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Missing, UnfitKind
from gpudoctor.snapshot.distributions import name_with_extras

_VERSION_CAUSES = frozenset({"package-requirement-conflict", "numpy2-abi-mismatch", "protobuf-mismatch", "keras3-mismatch"})
"""What the error of an import may point to where the version of a required package is wrong."""


@rule("GD609", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "The framework imports a package that is missing or of another version.", Join.FRAMEWORK)
def package_requirement_conflict(environment: EnvironmentView) -> Problems:
    """Package version violates another package's requirement."""
    stack = environment.stack
    refused = _add_ons_lacking_symbols(environment)
    violations = [
        violation
        for violation in stack.violations
        if _is_general(violation, stack) and (violation.demand.by.name, violation.found.name) not in refused
    ]
    told = set[str]()
    for found in dict.fromkeys(violation.found for violation in violations):
        of_package = [violation for violation in violations if violation.found == found]
        problem = Problem(
            message=unmet_requirements_text(of_package, stack),
            severity=Severity.ERROR if stack.supposed else None,
            evidence=(distribution_evidence(found), *requirement_evidence(of_package)),
            fixes=(*_install_within_bounds(found, of_package, environment), *_install_another(found, of_package, environment)),
        )
        unfit = next((view for view in environment.frameworks if _is_unfit(view, found.name)), None)
        if unfit is not None:
            told.add(unfit.name)
            yield _failing_at_version(problem, unfit)
            continue
        yield _with_failed_import(problem, {violation.demand.by.name for violation in of_package}, environment)
    yield from _unfit(environment, told)
    for contradiction in stack.requirement_clashes:
        if not contradiction.name.startswith(NVIDIA_PACKAGES):
            yield clash_problem(contradiction, environment)
    for violation in stack.patch_violations:
        wanted = accepted_requirement([violation])
        yield Problem(
            message=f"{violation.demand.text}, but an installer chooses {violation.found.label}.",
            evidence=(distribution_evidence(violation.found), *requirement_evidence([violation])),
            fixes=(install_fix(f"Add {wanted}", environment.observed.python, wanted),),
        )
    yield from _absent_requirements(environment)
    yield from _packages_without_files(environment)
    yield from _absent_modules(environment)
    yield from _frameworks_without_library(environment)
    yield from missing_package_problems(environment)


def _is_unfit(framework: FrameworkView, name: str) -> bool:
    """Return whether the import of a framework is known to fail since a distribution has another version."""
    module = framework.unfit_module
    return module is not None and module.kind is not UnfitKind.SHADOWED_PACKAGE and module.owner.partition("==")[0] == name


def _unfit(environment: EnvironmentView, told: set[str]) -> Problems:
    """Yield, for each framework, the package of a version that it does not accept and that its import fails at; without those that were told."""
    for framework in environment.frameworks:
        module = framework.unfit_module
        if module is None or not module.requirement or framework.name in told or module.kind is UnfitKind.SHADOWED_PACKAGE:
            continue
        if any(violation.found.name == module.owner.partition("==")[0] for violation in environment.stack.violations):
            continue  # a more specific rule reports it
        owner, by = module.owner.replace("==", " "), module.required_by.replace("==", " ")
        problem = Problem(
            message=f"{by} requires {module.requirement}, but {owner} is installed.",
            evidence=(Evidence(f"{by} requires", module.requirement, "METADATA"),),
            fixes=(install_fix(f"Install {module.requirement}", environment.observed.python, module.requirement),),
        )
        yield _failing_at_version(problem, framework)


def _failing_at_version(problem: Problem, framework: FrameworkView) -> Problem:
    """Return the problem as the error that it is if the framework's import fails at a module of that package."""
    module = framework.unfit_module
    if module is None:
        return problem
    asking = f"{short_path(module.asked_by)} imports {module.module}"
    return msgspec.structs.replace(
        problem,
        message=f"{problem.message} `import {framework.name}` fails: {asking}, and {short_path(module.path)} is {module.why}."
        if module.kind is UnfitKind.ANOTHER_NUMPY
        else f"{problem.message} `import {framework.name}` fails: {asking}, which {short_path(module.path)} does not define.",
        evidence=(*problem.evidence, Evidence(module.module, module.why, module.asked_by)),
        severity=Severity.ERROR,
        only_for=framework.name,
        subject=framework.subject,
    )


def _is_general(violation: Violation, stack: Stack) -> bool:
    """Return whether no more specific rule reports an unmet requirement; of what is planned, numpy2-abi-mismatch also reports other packages that compute."""
    compiled = stack.supposed and any(built.name == violation.demand.by.name for built, _ in stack.built_for_numpy_1)
    of_numpy = compiled and violation.found.name == "numpy" and needs_numpy_1(violation)
    return rule_for_violation(violation) == package_requirement_conflict.name and not of_numpy


def _add_ons_lacking_symbols(environment: EnvironmentView) -> set[tuple[str, str]]:
    """Return the add-ons that lack functions of an installed framework, each with it: extension-abi-mismatch reports them, with the release that fits."""
    libraries = environment.machine.observed.libraries
    files = () if isinstance(libraries, Missing) else libraries.extensions
    return {
        (add_on.name, framework.observed.distribution)
        for framework in environment.frameworks
        for add_on in installed_add_ons(framework.name, files)
        if add_on.lacks_functions
    }


def _with_failed_import(problem: Problem, demanding: set[str], environment: EnvironmentView) -> Problem:
    """Return the problem as the error that it is if a framework that demands another version was seen to fail at its import, for no other known cause."""
    of_them = (framework for framework in environment.frameworks if framework.name in map(stack_of, demanding))
    for framework in of_them if not environment.stack.supposed else ():
        failure = None if isinstance(framework.smoke_or_missing, Missing) else failed_import(framework)
        if failure is not None and failure.causes <= _VERSION_CAUSES:
            return msgspec.structs.replace(
                problem,
                message=f"{problem.message} `import {framework.name}` fails: {failure.error}.",
                severity=Severity.ERROR,
                confidence=Confidence.LIKELY,
                only_for=framework.name,
                subject=framework.subject,
            )
    return problem


def _frameworks_without_library(environment: EnvironmentView) -> Problems:
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
            release = newest_release(environment.machine, plugin.library, accepts=f"<={package.version}", near=package.version)
            pin = f"{plugin.library}=={release}" if release else plugin.library
            yield Problem(
                message=f"{package.label} cannot be imported without {plugin.library}, which only its extras require.",
                evidence=(distribution_evidence(package), Evidence(plugin.library, "not stated", source_of(row))),
                fixes=(install_fix(f"Add {pin}", environment.observed.python, pin),),
            )


def _absent_requirements(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, what it requires and the environment does not have."""
    stack = environment.stack
    for by in dict.fromkeys(demand.by for demand in stack.absent):
        wanted = [demand.requirement for demand in stack.absent if demand.by == by]
        names = [requirement.name for requirement in wanted]
        framework = environment.framework_from(by.name)
        problem = Problem(
            message=f"{by.label} requires {few_names(names)}, which {singular_or_plural(len(names), 'is', 'are')} not installed.",
            title=f"{spec_of(framework_of(by.name) or by.name).title} lacks packages that it requires",
            evidence=tuple(Evidence(f"{by.label} requires", requirement.text, by.where) for requirement in first_few(wanted)),
            fixes=(
                install_fix(
                    f"Install {few_names(names)}",
                    environment.observed.python,
                    *(f"{requirement.name}{requirement.specifier}" for requirement in wanted),
                ),
            ),
        )
        yield problem if framework is None else _with_failing_import(problem, framework)


def _packages_without_files(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, the packages that it requires and whose files are gone; installers take them for installed."""
    stack = environment.stack
    for by in dict.fromkeys(demand.by for demand in stack.hollow):
        wanted = [demand.requirement for demand in stack.hollow if demand.by == by]
        pins = [f"{requirement.name}{requirement.specifier}" for requirement in wanted]
        labels = [pin.replace("==", " ") for pin in pins]
        framework = environment.framework_from(by.name)
        problem = Problem(
            message=f"{by.label} requires {few_names(labels)}. {singular_or_plural(len(labels), 'Its files are', 'Their files are')} gone, and only metadata is left.",
            title=f"{spec_of(framework_of(by.name) or by.name).title} lacks packages that it requires",
            evidence=tuple(Evidence(label, "only its metadata is left", f"required by {by.label}") for label in first_few(labels)),
            fixes=(install_fix(f"Reinstall {few_names(labels)}", environment.observed.python, *pins, options=REINSTALL),),
        )
        yield problem if framework is None else _with_failing_import(problem, framework)


def _absent_modules(environment: EnvironmentView) -> Problems:
    """Yield, for each framework, the packages that are absent and that what it requires requires: urllib3 of requests."""
    itself, risks = {demand.by.name for demand in (*environment.stack.absent, *environment.stack.hollow)}, set[str]()
    for framework in environment.frameworks:
        modules = framework.absent_modules if framework.observed.distribution not in itself else ()
        lacking: dict[str, list[str]] = {}
        for one in modules:
            if one.owner in environment.versions:
                lacking.setdefault(f"{one.owner} {environment.versions[one.owner]}", []).append(one.path)
        if not lacking:
            continue
        module, by = modules[0], joined_words(list(lacking))
        absent = list(dict.fromkeys(path for paths in lacking.values() for path in paths))
        problem = Problem(
            message=f"{by} {singular_or_plural(len(lacking), 'requires', 'require')} {few_names(absent)}, which {singular_or_plural(len(absent), 'is', 'are')} not installed.",
            title=f"{framework.spec.title} lacks packages that it requires",
            evidence=tuple(
                Evidence(one, f"requires {few_names(paths)}", f"needed by {framework.label}")
                for one, paths in first_few(list(lacking.items()))
            ),
            fixes=(
                install_fix(
                    f"Install what {by} {singular_or_plural(len(lacking), 'requires', 'require')}",
                    environment.observed.python,
                    *(one.replace(" ", "==") for one in lacking),
                ),
            ),
        )
        more = f", nor {singular_or_plural(len(absent), 'is', 'are')} {few_names(absent[1:])}" if absent[1:] else ""
        if module.asked_by:
            yield msgspec.structs.replace(
                problem,
                message=f"`import {framework.name}` fails: {short_path(module.asked_by)} of {next(iter(lacking))} imports {module.path}, which is not installed{more}.",
                severity=Severity.ERROR,
                only_for=framework.name,
                subject=framework.subject,
                evidence=(Evidence("imports", module.path, module.asked_by),),
            )
        elif not environment.keeps_other_requirements and not risks.issuperset(absent):
            risks.update(absent)
            yield problem


def _with_failing_import(problem: Problem, framework: FrameworkView) -> Problem:
    """Return the problem as the error that it is if the framework imports a module that is absent."""
    module = framework.absent_module
    if module is None or not module.asked_by:
        return problem
    return msgspec.structs.replace(
        problem,
        message=f"{problem.message} `import {framework.name}` fails: {short_path(module.asked_by)} imports {module.path}.",
        evidence=(*problem.evidence, Evidence("imports", module.path, module.asked_by)),
        severity=Severity.ERROR,
        only_for=framework.name,
        subject=framework.subject,
    )


def _install_within_bounds(found: Distribution, violations: list[Violation], environment: EnvironmentView) -> tuple[Fix, ...]:
    requirement = accepted_requirement(violations)
    specifier = requirement.removeprefix(found.name)
    machine = environment.machine
    if stack_of(found.name) == found.name and pick_release(machine, found.name, accepts=specifier) is not None:
        return install_framework(machine, found.name, accepts=specifier)
    return (install_fix(f"Install {short_accepted_requirement(violations)}", environment.observed.python, requirement),)


def _install_another(found: Distribution, violations: list[Violation], environment: EnvironmentView) -> Iterator[Fix]:
    """Yield the fix that installs another release of the only package that does not accept what is there; a framework has fixes of its own."""
    demanding, stack = {violation.demand.by for violation in violations}, environment.stack
    by = demanding.pop()
    if demanding or stack_of(by.name) == by.name or not stack.stated(by):
        return
    release = nearest_release(environment.machine, by, lambda row: str(row.release) != by.version and _accepts_found(row, by, found, stack))
    if release:
        pin = f"{name_with_extras(by.name, by.extras)}=={release}"
        title = f"Install {by.name} {release}, which accepts {found.label}"
        yield install_fix(title, environment.observed.python, pin, kind=FixKind.INSTEAD)


def _accepts_found(row: FrameworkRelease, by: Distribution, found: Distribution, stack: Stack) -> bool:
    bounds = (requirement.specifier for requirement in stack.required(row, by.extras) if requirement.name == found.name)
    return all(satisfies(found.version, bound) is not False for bound in bounds)
