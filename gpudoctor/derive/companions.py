"""What packages need beside a framework, leave to an extra or to the user, and lack."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import parse_requirement, satisfies
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix.rows import Companion
from gpudoctor.snapshot import Distribution


class MissingCompanion(msgspec.Struct, frozen=True):
    """A package that another one needs beside a framework and that is not there."""

    by: Distribution
    beside: Distribution
    row: Companion

    @property
    def name(self) -> str:
        """The package to install."""
        return _requirement_name(self.row.needs[0])


def missing_companions(stack: Stack) -> Iterator[MissingCompanion]:
    """Yield what packages need beside a framework and nothing installs; nothing if the list of packages may be incomplete.

    A framework in any of its distributions will do.
    """
    there = {*stack.distributions, *stack.without_gpu_code, *stack.of_unknown_release}
    there |= {name for name in map(framework_of, there) if name is not None}
    for distribution in () if stack.selected else stack.distributions.values():
        for row in stack.matrix.needed_companions(distribution.name, distribution.version):
            beside = _matching_framework(row.beside, stack)
            if beside is not None and there.isdisjoint(map(_requirement_name, row.needs)):
                yield MissingCompanion(distribution, beside, row)


def _matching_framework(text: str, stack: Stack) -> Distribution | None:
    """The framework that a requirement names, by any of its distributions, if its version meets it."""
    wanted = parse_requirement(text)
    same = (distribution for name, distribution in stack.distributions.items() if wanted is not None and framework_of(name) == wanted.name)
    return next(
        (distribution for distribution in same if wanted is not None and satisfies(distribution.version, wanted.specifier) is True), None
    )


def _requirement_name(text: str) -> str:
    found = parse_requirement(text)
    return text if found is None else found.name
