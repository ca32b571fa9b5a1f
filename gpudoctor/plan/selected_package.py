"""A package that an installer would take, and why."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.snapshot.distributions import name_with_extras


class PackageDemand(msgspec.Struct, frozen=True):
    """What one release requires of a package."""

    requirement: Requirement
    by: str
    """The name of the package that requires it."""
    who: str
    """The same with extras and version."""


class SelectedPackage(msgspec.Struct):
    """A package that would be installed."""

    name: str
    version: str
    extras: set[str]
    where: str
    chosen: bool
    requirement: str = ""
    """How the user asked for it; empty if only another package wants it."""
    unknown_extras: set[str] = msgspec.field(default_factory=set)

    @property
    def is_open(self) -> bool:
        """Whether an installer may take another version."""
        return self.chosen or not self.requirement

    @property
    def label(self) -> str:
        """Name, extras and version."""
        return f"{name_with_extras(self.name, sorted(self.extras))} {self.version}"
