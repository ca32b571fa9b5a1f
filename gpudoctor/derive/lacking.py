"""What packages need beside a framework, leave to an extra or to the user, and lack."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import requirement, satisfies
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix.rows import Companion
from gpudoctor.snapshot import Distribution


class Lacking(msgspec.Struct, frozen=True):
    """A package that another one needs beside a framework and that is not there."""

    by: Distribution
    beside: Distribution
    row: Companion

    @property
    def name(self) -> str:
        """The package to install."""
        return _named(self.row.needs[0])


def lacking(stack: Stack) -> Iterator[Lacking]:
    """Yield what packages need beside a framework and nothing installs; nothing if the list of packages may be incomplete.

    A framework in any of its distributions will do.
    """
    there = {*stack.distributions, *stack.without_gpu_code, *stack.of_unknown_release}
    there |= {name for name in map(framework_of, there) if name is not None}
    for distribution in () if stack.selected else stack.distributions.values():
        for row in stack.matrix.needed_beside(distribution.name, distribution.version):
            beside = _meeting(row.beside, stack)
            if beside is not None and there.isdisjoint(map(_named, row.needs)):
                yield Lacking(distribution, beside, row)


def _meeting(text: str, stack: Stack) -> Distribution | None:
    """The framework that a requirement names, by any of its distributions, if its version meets it."""
    wanted = requirement(text)
    same = (distribution for name, distribution in stack.distributions.items() if wanted is not None and framework_of(name) == wanted.name)
    return next(
        (distribution for distribution in same if wanted is not None and satisfies(distribution.version, wanted.specifier) is True), None
    )


def _named(text: str) -> str:
    found = requirement(text)
    return text if found is None else found.name
