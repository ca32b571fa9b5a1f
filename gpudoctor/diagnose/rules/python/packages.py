"""GD5 and GD6: what the installed packages require of one another and do not get."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive import Stack
from gpudoctor.derive.packages import Contradiction, Violation
from gpudoctor.diagnose.package_facts import named_by, there
from gpudoctor.findings import Evidence, Fix, Problem, Severity
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import Framework

_NVIDIA = ("nvidia-", "cuda-")


def _of(stack: Stack, name: str, framework: Framework) -> list[Violation]:
    """The unmet requirements that a rule names for a framework."""
    return [one for one in stack.violations if named_by(one) == name and stack_of(one.demand.by.name) == framework.name]


def _unmet(violations: Iterable[Violation], stack: Stack) -> str:
    """What is not met, as a sentence."""
    return "; ".join(dict.fromkeys(f"{one.demand.text}, and {one.found.label} {there(stack)}" for one in violations)) + "."


def _accepted(violations: list[Violation]) -> str:
    """A requirement that meets all that are not met."""
    clauses = dict.fromkeys(clause for one in violations for clause in one.demand.requirement.specifier.split(","))
    return f"{violations[0].found.name}{','.join(clauses)}"


def _contradicted(one: Contradiction) -> Problem:
    """Requirements that no release meets, of which an installer makes nothing."""
    likewise = f" Likewise {', '.join(one.likewise)}." if one.likewise else ""
    return Problem(
        message=f"No release of {one.name} meets all of these: {'; '.join(demand.text for demand in one.demands)}.{likewise}",
        title="Requirements that no release can meet together",
        severity=Severity.ERROR,
        evidence=tuple(Evidence(f"{demand.by.label} requires", demand.requirement.text, demand.where) for demand in one.demands),
        fixes=(Fix("Choose releases that agree, or give each framework an environment of its own."),),
    )
