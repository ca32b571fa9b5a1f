"""What a plan learns from the conflicts of the releases that it tried."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_machine import AssumedMachine
from gpudoctor.plan.checker import Conclusion
from gpudoctor.plan.choices import Chosen
from gpudoctor.plan.remedies import AddedConstraint, constraint_sets


class LearntBounds(msgspec.Struct):
    """Bounds on the releases that the tables choose, and constraints on the packages that an installer chooses."""

    bounds: dict[str, str] = {}
    constraints: tuple[AddedConstraint, ...] = ()
    why: str = ""
    left_out: tuple[str, ...] = ()
    """Packages that have no wheel: uv builds nothing, so it cannot read what they require. No reason for an older release."""

    def bound(self, name: str, specifier: str) -> None:
        """Allow only these releases of a package."""
        self.bounds = {**self.bounds, name: ",".join(filter(None, (self.bounds.get(name, ""), specifier)))}

    def add_conflict(self, conclusion: Conclusion, chosen: Chosen, machine: AssumedMachine, matrix: Matrix) -> None:
        """Add the constraint that answers what the rules found; without one, exclude the release of the first package."""
        self.why = conclusion.why
        for constraints in (
            *constraint_sets(conclusion, chosen.candidates, machine, matrix),
            *_constraints_on_others(conclusion, {candidate.name for candidate in chosen.candidates}),
        ):
            if not set(constraints) <= set(self.constraints):
                self.constraints = (*self.constraints, *constraints)
                return
        last = chosen.candidates[-1]
        self.bound(last.name, f"!={last.release}")

    def with_constraints(self, chosen: Chosen) -> Chosen:
        """The set with all constraints."""
        more = tuple(constraint for constraint in self.constraints if constraint not in chosen.constraints)
        return msgspec.structs.replace(chosen, constraints=(*chosen.constraints, *more))


def _constraints_on_others(conclusion: Conclusion, leads: set[str]) -> Iterator[tuple[AddedConstraint, ...]]:
    """Yield the fixes of what was found that install other releases of packages that an installer chose."""
    for fix in (fix for finding in conclusion.findings for fix in finding.fixes):
        pins = [*parse_requirements(fix.installs)]
        if pins and leads.isdisjoint(pin.name for pin in pins):
            yield tuple(AddedConstraint(pin.text, "a release that works with these") for pin in pins)
