import posixpath
from itertools import chain

import msgspec

from gpudoctor.derive import EnvironmentView, FrameworkView, Stack, not_applicable
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.packages import major, stack_of
from gpudoctor.derive.specifiers import clauses
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.advice.requirements import (
    clash_problem,
    distribution_evidence,
    installed_or_requested,
    requirement_evidence,
    rule_for_violation,
    unmet_requirements_text,
)
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.frameworks import NVIDIA_PACKAGES
from gpudoctor.snapshot import Distribution, is_absent

_SEPARATE_ENVIRONMENTS = Fix("Give each framework its own environment.", needs=(DOWNLOAD,), kind=FixKind.INSTEAD)


@rule("GD511", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
@explains(("nccl-version-conflict",), "The NCCL package is not the one that the framework requires.")
@explains(TRAINING_FAILS, "A library of the framework does not load.", Join.FRAMEWORK)
def nvidia_wheel_version_conflict(environment: EnvironmentView) -> Problems:
    """NVIDIA packages do not match the framework's requirements."""
    stack = environment.stack
    if not any(name.startswith(NVIDIA_PACKAGES) for name in stack.distributions) and not stack.requirement_clashes:
        not_applicable("no NVIDIA package is installed")
    unmet = _violations_by_package(environment)
    for by, violations in unmet.items():
        others = len(violations) - 1
        more = f" ({others} more of its requirements {singular_or_plural(others, 'is', 'are')} not met)" if others else ""
        pins = (f"{violation.found.name}{violation.demand.requirement.specifier}" for violation in violations)
        install = install_fix(f"Install the versions that {by.label} requires", environment.machine.observed.python, *pins)
        problem = Problem(
            message=unmet_requirements_text(violations[:1], stack).removesuffix(".") + f"{more}.",
            severity=Severity.ERROR if stack.supposed else None,
            evidence=tuple(
                row for violation in violations for row in (distribution_evidence(violation.found), *requirement_evidence([violation]))
            ),
            fixes=(install, _SEPARATE_ENVIRONMENTS),
        )
        framework = environment.framework_from(by.name)
        yield problem if framework is None else _with_loading_error(problem, framework, [violation.found for violation in violations])
    for contradiction in stack.requirement_clashes:
        if contradiction.name.startswith(NVIDIA_PACKAGES):
            yield clash_problem(contradiction, environment)
    yield from _overwriting_packages(environment, stack)


def _with_loading_error(problem: Problem, framework: FrameworkView, installed: list[Distribution]) -> Problem:
    """Return the problem as the error that it is if one of these packages lacks a function that a library needs."""
    labels = {distribution.name: distribution.label for distribution in installed}
    lacking = next((symbol for symbol in framework.unresolved if symbol.owner in labels), None)
    if lacking is None:
        return problem
    needing = posixpath.basename(lacking.needed_by)
    return msgspec.structs.replace(
        problem,
        message=f"{problem.message} {needing} does not load: it needs {lacking.symbol}, which {labels[lacking.owner]} does not define.",
        evidence=(Evidence(f"needed by {needing}", lacking.symbol, f"not defined in {lacking.library}"), *problem.evidence),
        severity=Severity.ERROR,
        only_for=framework.name,
        subject=framework.subject,
    )


def _violations_by_package(environment: EnvironmentView) -> dict[Distribution, list[Violation]]:
    """Return the unmet requirements for NVIDIA's packages by the package that states them; builds without CUDA do not count."""
    stack, unmet = environment.stack, dict[Distribution, list[Violation]]()
    without_cuda = {framework.name for framework in environment.frameworks if is_absent(framework.cuda_or_missing)}
    for violation in stack.violations:
        by = violation.demand.by
        named = rule_for_violation(violation) == nvidia_wheel_version_conflict.name or (
            stack.supposed and _is_newer_cudnn_refused(violation)
        )
        if named and stack_of(by.name) not in without_cuda:
            unmet.setdefault(by, []).append(violation)
    return unmet


def _overwriting_packages(environment: EnvironmentView, stack: Stack) -> Problems:
    """Report packages of one library for two CUDA versions."""
    if twins := stack.overwriting_packages:
        pairs = "; ".join(_labels(group) for group in twins)
        yield Problem(
            message=f"{pairs} {installed_or_requested(stack, many=True)} and contain the same files; the package installed last is used.",
            title="NVIDIA packages for two CUDA versions overwrite each other",
            evidence=tuple(map(distribution_evidence, chain.from_iterable(twins))),
            fixes=(_keep_one_package(environment, twins), _SEPARATE_ENVIRONMENTS),
        )


def _labels(distributions: list[Distribution]) -> str:
    return " and ".join(distribution.label for distribution in distributions)


def _keep_one_package(environment: EnvironmentView, twins: list[list[Distribution]]) -> Fix:
    """Return the fix that keeps one package of each library: the one that is required, else that for the newest CUDA."""
    required = {demand.requirement.name for demand in environment.stack.demands}
    keep = [max(group, key=lambda wheel: (wheel.name in required, wheel.name)) for group in twins]
    remove = [wheel for wheel in chain.from_iterable(twins) if wheel not in keep]
    pins = (f"{wheel.name}=={wheel.version}" for wheel in keep)
    replace = tuple(wheel.name for wheel in remove)
    title = f"Remove {_labels(remove)}, and reinstall {_labels(keep)}"
    return install_fix(title, environment.machine.observed.python, *pins, options=REINSTALL, replace=replace)


def _is_newer_cudnn_refused(violation: Violation) -> bool:
    """Return whether an installer refuses a newer cuDNN of the required major version, which would run."""
    required = {
        major(version) for operator, version in clauses(violation.demand.requirement.specifier) or () if operator in {"==", ">=", "~="}
    }
    return violation.found.name.startswith("nvidia-cudnn") and not violation.older and major(violation.found.version) in required
