"""What a search is for and what it finds: wishes, sets of releases with their answers, builds that do not work."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.checker import Conclusion
from gpudoctor.plan.remedies import AddedConstraint


class Chosen(msgspec.Struct, frozen=True):
    """A set of releases with its answer."""

    candidates: tuple[Candidate, ...]
    python: str
    conclusion: Conclusion
    constraints: tuple[AddedConstraint, ...] = ()

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases without their builds."""
        return tuple(candidate.release for candidate in self.candidates)

    def of(self, name: str) -> Candidate | None:
        """Return the candidate of this name."""
        return next((candidate for candidate in self.candidates if candidate.name == name), None)


class Rejected(msgspec.Struct, frozen=True):
    """A build that does not work on this machine, and why."""

    candidate: Candidate
    conclusion: Conclusion


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What to plan for."""

    requirements: dict[str, Requirement]
    """As stated, by normalised name."""
    python: str = ""
    """The Python version that must be used; empty: any."""
    preferred: str = ""
    """The Python version to use if it can be."""
    pythons: tuple[str, ...] = ()
    """The Python versions that are allowed; () for any."""
    near: dict[str, str] = {}
    """Releases that were stated, by name: others are tried from the nearest on; of the other packages the newest first."""
    bounds: dict[str, str] = {}
    """Specifiers beside those that were stated, by name: constraints, and what the resolver found out."""
    intact: bool = False
    """Whether packages that overwrite each other's files are refused."""
    not_planned: tuple[str, ...] = ()
    """What was asked for and cannot be planned, in sentences."""
