"""What distributions require of each other, and where that is not met."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import Requirement, is_below
from gpudoctor.snapshot import Distribution


class Demand(msgspec.Struct, frozen=True):
    """A requirement, and who states it."""

    by: Distribution
    requirement: Requirement
    where: str
    patch: str = ""
    """The later patch of the same minor release that states it, if the release itself does not."""

    @property
    def text(self) -> str:
        """For a person: "tensorflow 2.18.0 requires numpy<2.1.0,>=1.26.0"."""
        wanted = f"{self.requirement.name}{self.requirement.specifier}"
        if self.patch:
            return f"{self.by.label} states no such bound for {self.requirement.name}; its patch {self.patch} requires {wanted}"
        return f"{self.who} {wanted}"

    @property
    def who(self) -> str:
        """Who states it, with the verb: "tensorflow 2.18.0 requires"; the user has no version."""
        return f"{self.by.label} requires" if self.by.version else "you request"


class Violation(msgspec.Struct, frozen=True):
    """A requirement that the installed version does not meet."""

    demand: Demand
    found: Distribution

    @property
    def older(self) -> bool:
        """Whether the installed version is older than required, not newer."""
        return is_below(self.found.version, self.demand.requirement.specifier)


class RequirementClash(msgspec.Struct, frozen=True):
    """Requirements on one distribution that no version meets together."""

    name: str
    demands: tuple[Demand, ...]
    likewise: tuple[str, ...]
    """Distributions with the same contradiction."""
