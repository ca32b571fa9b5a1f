"""Requirements of taken packages that no release meets together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.derive.specifiers import are_contradictory, satisfies
from gpudoctor.plan.selected_package import SelectedPackage


class Clash(msgspec.Struct, frozen=True):
    """A package, and what is required of it: by whom, and which releases."""

    name: str
    wanted: tuple[tuple[str, str], ...]
    """The name of the package that requires it, "" for the user, and the specifier."""

    def beside(self, name: str) -> tuple[str, ...]:
        """Return what others than this package require."""
        return tuple(specifier for by, specifier in self.wanted if by != name)


def clashes(taken: Mapping[str, SelectedPackage], required: Iterable[tuple[str, str, str]], stated: Mapping[str, str]) -> Iterator[Clash]:
    """Yield the packages that no release suits: the version that the user states refuses a requirement, or all requirements exclude each other.

    `required` has the packages that require something, what, and which releases; `stated` are the user's own bounds.
    """
    wanted: dict[str, list[tuple[str, str]]] = {name: [("", specifier)] for name, specifier in stated.items() if specifier}
    for by, name, specifier in required:
        if specifier:
            wanted.setdefault(name, []).append((by, specifier))
    for name, every in wanted.items():
        there = taken.get(name)
        specifiers = tuple(specifier for _, specifier in every)
        if there is not None and not there.is_open:
            refusing = tuple(one for one in every if satisfies(there.version, one[1]) is False)
            if refusing:
                yield Clash(name, (("", f"=={there.version.partition('+')[0]}"), *refusing))
        elif len(every) > 1 and are_contradictory(specifiers):
            yield Clash(name, tuple(every))
