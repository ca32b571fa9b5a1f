"""Takes older releases of what was left open where the newest exclude each other, as an installer does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.derive.specifiers import Requirement, are_contradictory, marker_holds, only_version, parse_requirements, satisfies
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.plan.clashes import Clash, clashes
from gpudoctor.plan.package_selection import PackageSelection

_STEPS = 16
"""How often releases are refused because of what others require; most sets that agree at all do after four."""


class Agreeing(PackageSelection):
    """The packages that an installer would choose, whose releases agree if any do."""

    def _agree(self) -> None:
        """Take older releases of what was left open where the newest exclude each other, as an installer does; none if that leads nowhere."""
        taken, wants, refused = self._taken, self._wants, self._refused
        for _ in range(_STEPS):
            clash = next(clashes(self._taken, self._requirements(), self._bounds_of_user()), None)
            if clash is None:
                return
            self._taken = {name: msgspec.structs.replace(one, extras=set(one.extras)) for name, one in self._taken.items()}
            self._wants = {name: [*every] for name, every in self._wants.items()}
            self._refused = {*self._refused}
            if not self._step_back(clash):
                break
            self._settle()
        self._taken, self._wants, self._refused = taken, wants, refused

    def _bounds_of_user(self) -> dict[str, str]:
        return {
            name: wanted.specifier for name, wanted in {**self._limits, **self._stated}.items() if only_version(wanted.specifier) is None
        }

    def _requirements(self) -> Iterator[tuple[str, str, str]]:
        """Yield what each taken package requires: who, what and which releases."""
        for taken in self._taken.values():
            row = self._tables.row(taken.name, taken.version)
            for wanted in self._required_of_all(row, taken.extras) if row is not None else ():
                yield taken.name, wanted.name, wanted.specifier

    def _required_of_all(self, row: FrameworkRelease, extras: Iterable[str]) -> Iterator[Requirement]:
        """Yield what a release requires here, also of packages that bear on no GPU."""
        yield from self._requirements_of(row, extras)
        environment = self._markers_for(row)
        for wanted in parse_requirements(other.requirement for other in self._matrix.other_requirements(row.distribution, row.release)):
            if wanted.name not in self._stated and marker_holds(wanted.marker, environment, tuple(extras)):
                yield wanted

    def _step_back(self, clash: Clash) -> bool:
        """Refuse the releases of a package that require what others exclude; whether one that may be replaced has others."""
        places = {name: place for place, name in enumerate(self._stated)}
        settled = tuple(specifier for by, specifier in clash.wanted if not by or not self._taken[by].is_open)
        names = dict.fromkeys(by for by, _ in clash.wanted if by and self._taken[by].is_open)
        for name in sorted(names, key=lambda name: -places.get(name, len(places))):  # what nobody stated first
            against_settled = self._requiring_other(name, clash.name, settled)
            if self._refuse_releases(name, against_settled) or self._refuse_releases(
                name, self._requiring_other(name, clash.name, clash.beside(name))
            ):
                return True
        return False

    def _requiring_other(self, name: str, of: str, others: tuple[str, ...]) -> set[str]:
        """Return the releases of a package that require of another one what `others` exclude; none if its own is not among them."""
        taken, found = self._taken[name], set[str]()
        for release, row in self._tables.releases(name) if others else ():
            own = self._specifiers(row, taken.extras, of) if row is not None else ()
            if own and are_contradictory((*own, *others)):
                found.add(release)
        return found if taken.version.partition("+")[0] in found else set()

    def _specifiers(self, row: FrameworkRelease, extras: Iterable[str], of: str) -> tuple[str, ...]:
        return tuple(wanted.specifier for wanted in self._required_of_all(row, extras) if wanted.name == of and wanted.specifier)

    def _refuse_releases(self, name: str, clashing: set[str], deepest: int = 2) -> bool:
        """Refuse releases of a package, and those of what requires it that leave no others; whether others remain of each."""
        if not clashing:
            return False
        taken = self._taken[name]
        left = {
            release
            for release, row in self._tables.releases(name)
            if release not in clashing and (name, release) not in self._refused and self._is_installable(row)
        }
        own = self._stated[name].specifier if taken.requirement else ""
        everybody = ",".join(filter(None, (own, self._joined_specifier(name))))
        if not any(satisfies(release, everybody) for release in left):
            wanting = {want.by for want in self._wants.get(name, ()) if want.by in self._taken and self._taken[want.by].is_open}
            leaving = {by: found for by in sorted(wanting) if (found := self._leaving_none(by, name, left))}
            if not (deepest and leaving and all(self._refuse_releases(by, found, deepest - 1) for by, found in leaving.items())):
                return False
        self._refused |= {(name, release) for release in clashing}
        return True

    def _leaving_none(self, by: str, name: str, left: set[str]) -> set[str]:
        """Return the releases of a package that require another one and none of the releases that are left; none if its own is not among them."""
        taken, found = self._taken[by], set[str]()
        for release, row in self._tables.releases(by):
            wanted = [one for one in self._requirements_of(row, taken.extras) if one.name == name] if row is not None else []
            if wanted and not any(all(satisfies(other, one.specifier) for one in wanted) for other in left):
                found.add(release)
        return found if taken.version.partition("+")[0] in found else set()
