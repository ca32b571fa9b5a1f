"""How rules word and show requirements between packages, and which rule reports an unmet one."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.packages import Contradiction, Stack, Violation, major
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.findings import Evidence, Fix, Problem, Severity
from gpudoctor.findings.actions import Action
from gpudoctor.frameworks import spec_of, stack_of
from gpudoctor.snapshot import Distribution

NVIDIA_PACKAGES = ("nvidia-", "cuda-")
_CUDNN = "nvidia-cudnn"


def as_evidence(distribution: Distribution) -> Evidence:
    """A distribution, its version and its place."""
    return Evidence(distribution.name, distribution.version, distribution.where)


def requirements(violations: Iterable[Violation]) -> list[Evidence]:
    """The unmet requirements, each with the package that states it."""
    demands = {(violation.demand.by.name, violation.demand.requirement.specifier): violation.demand for violation in violations}
    return [Evidence(f"{demand.by.label} requires", demand.requirement.text, demand.where) for demand in demands.values()]


def is_there(stack: Stack, *, many: bool = False) -> str:
    """The words "is installed" or "is requested", for one or many."""
    return f"{'are' if many else 'is'} {'requested' if stack.supposed else 'installed'}"


def unmet_requirements(violations: Iterable[Violation], stack: Stack) -> str:
    """The unmet requirements as a sentence."""
    clauses = (f"{violation.demand.text}, but {violation.found.label} {is_there(stack)}" for violation in violations)
    return "; ".join(dict.fromkeys(clauses)) + "."


def accepted(violations: list[Violation]) -> str:
    """One requirement that meets all unmet ones of a package."""
    clauses = dict.fromkeys(clause for violation in violations for clause in violation.demand.requirement.specifier.split(","))
    return f"{violations[0].found.name}{','.join(clauses)}"


def rule_for(violation: Violation) -> str:
    """The rule that reports an unmet requirement, the most specific one; empty for cuDNN, which has rules of its own."""
    wanted, by = violation.found.name, violation.demand.by.name
    framework = stack_of(by)
    same_stack = framework is not None and framework == stack_of(wanted)
    applies = {
        "": wanted.startswith(_CUDNN),
        "numpy2-abi-mismatch": wanted == "numpy" and framework is not None and needs_numpy_1(violation),
        "protobuf-mismatch": wanted == "protobuf" and framework is not None,
        "keras3-mismatch": wanted == "keras" and same_stack and _needs_other_keras(violation),
        f"{wanted}-{by}-mismatch": by in spec_of(wanted).companions,
        "jax-plugin-version-mismatch": same_stack and spec_of(framework or "").plugin is not None,
        "nvidia-wheel-version-conflict": wanted.startswith(NVIDIA_PACKAGES),
    }
    return next((rule for rule, does in applies.items() if does), "package-requirement-conflict")


def violations_for(rule: str, framework: FrameworkView) -> list[Violation]:
    """The unmet requirements of a framework's parts that one rule reports."""
    of_rule = (violation for violation in framework.environment.stack.violations if rule_for(violation) == rule)
    return [violation for violation in of_rule if stack_of(violation.demand.by.name) == framework.name]


def needs_numpy_1(violation: Violation) -> bool:
    """Whether NumPy 2 is there and every NumPy 2 is excluded, as builds for NumPy 1 do."""
    excluded = satisfies("2.0.0", violation.demand.requirement.specifier) is False
    return (major(violation.found.version) or 0) >= 2 and not violation.older and excluded


def _needs_other_keras(violation: Violation) -> bool:
    """Whether Keras 3 is there where Keras 2 is required, or the other way round."""
    is_keras_3 = (major(violation.found.version) or 0) >= 3
    if violation.older:
        return not is_keras_3
    return is_keras_3 and satisfies("3.0.0", violation.demand.requirement.specifier) is False


def contradictory(contradiction: Contradiction) -> Problem:
    """Requirements that no release meets, which an installer refuses."""
    texts = "; ".join(demand.text for demand in contradiction.demands)
    also = f" The same holds for {', '.join(contradiction.likewise)}." if contradiction.likewise else ""
    return Problem(
        message=f"No release of {contradiction.name} meets all of these: {texts}.{also}",
        title="No release meets all requirements",
        severity=Severity.ERROR,
        evidence=tuple(Evidence(f"{demand.by.label} requires", demand.requirement.text, demand.where) for demand in contradiction.demands),
        fixes=(Fix("Choose compatible releases, or give each framework an environment of its own.", action=Action.REINSTALL_PACKAGE),),
    )
