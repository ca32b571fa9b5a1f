"""Requirements between packages: their wording and evidence, and the rule that reports an unmet one."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive import EnvironmentView, FrameworkView
from gpudoctor.derive.demands import Demand, RequirementClash, Violation
from gpudoctor.derive.packages import Stack, major
from gpudoctor.derive.specifiers import of_beside, satisfies
from gpudoctor.diagnose.advice.requirement_clashes import install_agreeing_release
from gpudoctor.findings import Evidence, Problem, Severity
from gpudoctor.frameworks import NVIDIA_PACKAGES, spec_of, stack_of
from gpudoctor.frameworks.spec import Rewritten
from gpudoctor.snapshot import Distribution

_CUDNN_PACKAGE = "nvidia-cudnn"


def distribution_evidence(distribution: Distribution) -> Evidence:
    """Return a distribution's name, version and place."""
    return Evidence(distribution.name, distribution.version, distribution.where)


def requirement_evidence(violations: Iterable[Violation]) -> list[Evidence]:
    """Return the unmet requirements, each with the package that states it."""
    demands = {(violation.demand.by.name, violation.demand.requirement.specifier): violation.demand for violation in violations}
    return [Evidence(f"{demand.by.label} requires", demand.requirement.text, demand.where) for demand in demands.values()]


def installed_or_requested(stack: Stack, *, many: bool = False) -> str:
    """Return "is installed" or "is requested", or the plural."""
    return f"{'are' if many else 'is'} {'requested' if stack.supposed else 'installed'}"


def unmet_requirements_text(violations: Iterable[Violation], stack: Stack) -> str:
    """Return the unmet requirements as a sentence."""
    clauses = (f"{_requirement_text(violation)}, but {violation.found.label} {installed_or_requested(stack)}" for violation in violations)
    return "; ".join(dict.fromkeys(clauses)) + "."


def _requirement_text(violation: Violation) -> str:
    bounds = violation.demand.requirement.specifier.split(",")
    return violation.demand.text.replace(",".join(bounds), _short_bounds(bounds, violation.found.version))


def _short_bounds(clauses: Iterable[str], version: str) -> str:
    """Return bounds without the releases that they exclude one by one, unless this is one of them; TensorFlow excludes six of protobuf."""
    clauses = list(clauses)
    return ",".join(clause for clause in clauses if not clause.startswith("!=") or clause == f"!={version}") or ",".join(clauses)


def accepted_requirement(violations: list[Violation]) -> str:
    """Return one requirement that satisfies all unmet requirements for a package."""
    return f"{violations[0].found.name}{','.join(_bounds(violations))}"


def short_accepted_requirement(violations: list[Violation]) -> str:
    """Return the same for a title: without the releases that are excluded one by one."""
    return f"{violations[0].found.name}{_short_bounds(_bounds(violations), violations[0].found.version)}"


def _bounds(violations: list[Violation]) -> Iterable[str]:
    return dict.fromkeys(clause for violation in violations for clause in violation.demand.requirement.specifier.split(","))


def rule_for_violation(violation: Violation) -> str:
    """Return the most specific rule that reports an unmet requirement; empty for cuDNN, which has rules of its own."""
    wanted, by = violation.found.name, violation.demand.by.name
    framework = stack_of(by)
    same_stack = framework is not None and framework == stack_of(wanted)
    applies = {
        "": wanted.startswith(_CUDNN_PACKAGE),
        "numpy2-abi-mismatch": wanted == "numpy" and framework is not None and needs_numpy_1(violation),
        "protobuf-mismatch": wanted == "protobuf" and framework is not None,
        "keras3-mismatch": same_stack and _needs_other_interface(violation, spec_of(framework or "").rewritten),
        f"{wanted}-{by}-mismatch": by in spec_of(wanted).companions,
        "jax-plugin-version-mismatch": same_stack and spec_of(framework or "").plugin is not None,
        "nvidia-wheel-version-conflict": wanted.startswith(NVIDIA_PACKAGES),
    }
    return next((rule for rule, does in applies.items() if does), "package-requirement-conflict")


def violations_for(rule: str, framework: FrameworkView) -> list[Violation]:
    """Return the unmet requirements of a framework's parts that a rule reports."""
    of_rule = (violation for violation in framework.environment.stack.violations if rule_for_violation(violation) == rule)
    return [violation for violation in of_rule if stack_of(violation.demand.by.name) == framework.name]


def needs_numpy_1(violation: Violation) -> bool:
    """Return whether NumPy 2 is installed and the requirement excludes every NumPy 2, as builds for NumPy 1 do."""
    excluded = satisfies("2.0.0", violation.demand.requirement.specifier) is False
    return (major(violation.found.version) or 0) >= 2 and not violation.older and excluded


def _needs_other_interface(violation: Violation, part: Rewritten | None) -> bool:
    """Return whether a rewritten part is installed with one interface where the other is required."""
    if part is None or violation.found.name != part.distribution:
        return False
    is_new = (major(violation.found.version) or 0) >= part.major
    if violation.older:
        return not is_new
    return is_new and satisfies(f"{part.major}.0.0", violation.demand.requirement.specifier) is False


def _is_beside(demand: Demand) -> bool:
    return of_beside(demand.requirement.marker)


def clash_problem(contradiction: RequirementClash, environment: EnvironmentView) -> Problem:
    """Return the finding for requirements that no release satisfies; where an installer does not compare them, older releases may agree."""
    demands = contradiction.demands
    texts = "; ".join(demand.text for demand in demands)
    also = f" The same applies to {', '.join(contradiction.likewise)}." if contradiction.likewise else ""
    is_open = any(map(_is_beside, demands)) and any(
        demand.by.version and (demand.by.chosen or not demand.by.requirement) for demand in demands
    )
    which = "all of the newest releases" if is_open else "all requirements"
    return Problem(
        message=f"No release of {contradiction.name} satisfies {which}: {texts}.{also}",
        title="Newest releases exclude each other" if is_open else "No release satisfies all requirements",
        severity=Severity.ERROR,
        evidence=tuple(Evidence(demand.who, demand.requirement.text, demand.where) for demand in contradiction.demands),
        fixes=install_agreeing_release(contradiction, environment),
    )
