"""What a plan learns from the conflicts of the releases that it tried."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive.specifiers import requirements_in
from gpudoctor.matrix import Matrix
from gpudoctor.plan.checker import Conclusion
from gpudoctor.plan.chosen import Chosen
from gpudoctor.plan.machine import Machine
from gpudoctor.plan.remedies import Constraint, remedies


class Learnt(msgspec.Struct):
    """Bounds on the releases that the tables choose, and constraints on the packages that an installer chooses."""

    bounds: dict[str, str] = {}
    constraints: tuple[Constraint, ...] = ()
    why: str = ""
    left_out: tuple[str, ...] = ()
    """Packages that have no wheel: uv builds nothing, so it cannot read what they require. No reason for an older release."""

    def bound(self, name: str, specifier: str) -> None:
        """Allow only these releases of a package."""
        self.bounds = {**self.bounds, name: ",".join(filter(None, (self.bounds.get(name, ""), specifier)))}

    def remember(self, conclusion: Conclusion, chosen: Chosen, machine: Machine, matrix: Matrix) -> None:
        """Add the constraint that answers what the rules found; without one, exclude the release of the first package."""
        self.why = conclusion.why
        for constraints in (
            *remedies(conclusion, chosen.candidates, machine, matrix),
            *_of_others(conclusion, {candidate.name for candidate in chosen.candidates}),
        ):
            if not set(constraints) <= set(self.constraints):
                self.constraints = (*self.constraints, *constraints)
                return
        last = chosen.candidates[-1]
        self.bound(last.name, f"!={last.release}")

    def applied(self, chosen: Chosen) -> Chosen:
        """The set with all constraints."""
        more = tuple(constraint for constraint in self.constraints if constraint not in chosen.constraints)
        return msgspec.structs.replace(chosen, constraints=(*chosen.constraints, *more))


def _of_others(conclusion: Conclusion, leads: set[str]) -> Iterator[tuple[Constraint, ...]]:
    """Yield the fixes of what was found that install other releases of packages that an installer chose."""
    for fix in (fix for finding in conclusion.findings for fix in finding.fixes):
        pins = [*requirements_in(fix.installs)]
        if pins and leads.isdisjoint(pin.name for pin in pins):
            yield tuple(Constraint(pin.text, "a release that works with these") for pin in pins)
