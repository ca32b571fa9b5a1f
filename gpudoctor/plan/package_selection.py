"""The packages that an installer would choose: those stated and what they require, for the releases in the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.cuda import STUB_ACCELERATOR
from gpudoctor.derive.pythons import ordered_pythons
from gpudoctor.derive.specifiers import (
    BESIDE_EXTRA,
    Requirement,
    allows_older,
    are_contradictory,
    marker_holds,
    only_version,
    parse_requirements,
    satisfies,
)
from gpudoctor.derive.wheel_tags import is_accepted
from gpudoctor.errors import UsageError
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.plan.listed_releases import ListedReleases
from gpudoctor.plan.model import FileStatements
from gpudoctor.plan.selected_package import PackageDemand, SelectedPackage
from gpudoctor.snapshot import Distribution
from gpudoctor.snapshot.distributions import normalise_distribution

_MAX_ROUNDS = 3
"""How often a choice is revised because of a later one; an installer would search on."""


class PackageSelection:
    """Takes packages until no known release requires another."""

    def __init__(
        self,
        matrix: Matrix,
        word: str,
        python: str | None,
        environment: dict[str, str],
        files: FileStatements,
        *,
        libc: str = "",
        alone: bool = False,
    ) -> None:
        self._matrix = matrix
        self._platform = word
        self._tables = ListedReleases(matrix, word)
        self._python = python
        self._libc = libc
        self._builds = files.builds
        self._limits = files.limits
        self._pythons = files.pythons
        """If none is stated: the Python versions that have a wheel of everything stated."""
        self._environment = environment
        self._alone = alone
        """Whether nothing else is taken."""
        self._wants: dict[str, list[PackageDemand]] = {}
        self._taken: dict[str, SelectedPackage] = {}
        self._stated: dict[str, Requirement] = {}
        self._refused: set[tuple[str, str]] = set()
        """Releases that were chosen, and then required what the stated versions exclude."""
        self._nowhere: dict[tuple[str, str], bool] = {}
        self._settled = False
        """Whether no other choice is left to try."""
        self.without_release: list[str] = []
        """Packages stated without a version, for which the tables list no release."""

    def take(self, stated: dict[str, Requirement]) -> tuple[Distribution, ...]:
        """What would be installed for these requirements, stated ones first. Raises UsageError if no release satisfies one."""
        self._stated = stated
        self._pythons = self._common_pythons() or self._pythons
        for name, wanted in sorted(stated.items(), key=lambda item: (only_version(item[1].specifier) is None, self._tables.has(item[0]))):
            self._add_stated(name, wanted)
        self._settle()
        while not self._settled and self._refuse_choice():
            self._settle()
        self._agree()
        for taken in self._taken.values():
            if not taken.requirement:
                taken.where = " and ".join(dict.fromkeys(want.who for want in self._wants[taken.name]))
        order = {name: place for place, name in enumerate(stated)}
        return tuple(
            Distribution(
                name=one.name,
                version=one.version,
                where=one.where,
                requirement=one.requirement,
                extras=tuple(sorted(one.extras)),
                chosen=one.chosen,
                unknown_extras=tuple(sorted(one.unknown_extras)),
                tags=self._tables.tags(one.name, one.version),
            )
            for one in sorted(self._taken.values(), key=lambda one: (order.get(one.name, len(order)), one.name))
        )

    def _common_pythons(self) -> tuple[str, ...]:
        """Return the allowed Python versions, old to new, for which each stated package has some release; none if no version suits all."""
        known = [frozenset(self._pythons), *(self._tables.pythons(name, wanted.specifier) for name, wanted in self._stated.items())]
        return tuple(ordered_pythons(frozenset.intersection(*(filter(None, known))))) if any(known) else ()

    def bounds(self) -> Iterator[str]:
        """Yield the stated bounds on packages that would be installed in a release that no table lists."""
        for name, limit in self._limits.items():
            if limit.specifier and name not in self._taken and (name in self.without_release or name in self._wants):
                yield f"{name}{limit.specifier}"

    def is_required(self, name: str) -> bool:
        """Return whether a package that would be installed requires this one."""
        return bool(self._wants.get(name))

    def first_requirer(self, name: str) -> str:
        """The package that first required another one; empty if only the user asked for it."""
        return next((want.by for want in self._wants.get(name, ())), "")

    def _add_stated(self, name: str, wanted: Requirement) -> None:
        pin, extras = only_version(wanted.specifier), {normalise_distribution(extra) for extra in wanted.extras}
        where = f"stated: {wanted.text}"
        if pin is not None:
            self._add(
                SelectedPackage(
                    name,
                    self._version_with_build(name, self._tables.table_spelling(name, pin)),
                    extras,
                    where,
                    chosen=False,
                    requirement=wanted.text,
                )
            )
            return
        known = [release for release, _ in self._tables.releases(name)]
        if not known:
            self.without_release.append(name)
            self._limits = {**self._limits, name: wanted}
            return
        if not any(satisfies(release, wanted.specifier) for release in known):
            raise UsageError(
                f"No release of {name} in the tables satisfies {wanted.text!r}: they list {known[0]} to {known[-1]}; state an exact version."
            )
        self._add(SelectedPackage(name, self._best_release(name, wanted.specifier), extras, where, chosen=True, requirement=wanted.text))

    def _settle(self) -> None:
        """Take what is wanted, and choose again where a later want excludes an earlier choice."""
        for _ in range(_MAX_ROUNDS):
            self._add_required()
            if not self._choose_again():
                break
        self._add_required()
        self._drop_unrequired()

    def _agree(self) -> None:
        """Nothing here; `Agreeing` takes older releases where the newest exclude each other."""

    def _refuse_choice(self) -> bool:
        """Refuse the first choice that makes another package exclude a stated version, as an installer steps back; whether there was one.

        If every release of a package would be refused, the newest ones stay: the contradiction is in what was stated.
        """
        for taken in [one for one in self._taken.values() if one.chosen or not one.requirement]:
            for one in self._excluding_choices(taken):
                self._refused.add((one.name, one.version))
                own = self._stated[one.name].specifier if one.requirement else ""
                everybody = ",".join(filter(None, (own, self._joined_specifier(one.name))))
                if not any(
                    satisfies(release, everybody) and (one.name, release) not in self._refused
                    for release, _ in self._tables.releases(one.name)
                ):
                    self._refused.clear()
                    self._settled = True
                return True
        return False

    def _excluding_choices(self, taken: SelectedPackage) -> Iterator[SelectedPackage]:
        """Yield the choices that exclude every release of a package that suits what was stated, if its release does not; also where none suits."""
        row = self._tables.row(taken.name, taken.version)
        if row is None or not self._is_against_stated(row, taken.extras):
            return
        suiting = [
            release
            for release, row in self._tables.releases(taken.name)
            if row and self._is_installable(row) and not self._is_against_stated(row, taken.extras)
        ]
        for want in self._wants.get(taken.name, ()):
            by = self._taken.get(want.by)
            chosen = by is not None and (by.chosen or not by.requirement)
            if by is not None and chosen and not any(satisfies(release, want.requirement.specifier) for release in suiting):
                yield by

    def _is_against_stated(self, row: FrameworkRelease, extras: set[str]) -> bool:
        """Whether a release requires something other than a stated version, or than what a stated version requires."""
        return any(self._contradicts_pin(wanted, row.distribution) for wanted in self._requirements_of(row, extras))

    def _contradicts_pin(self, wanted: Requirement, by: str) -> bool:
        there = self._taken.get(wanted.name)
        if there is not None and self._is_pinned(there):
            return satisfies(there.version, wanted.specifier) is False
        if not wanted.name.startswith("nvidia-"):  # only these are pinned exactly by what CUDA builds require
            return False
        wants = (want for want in self._wants.get(wanted.name, ()) if want.by != by and want.by in self._taken)
        settled = [want.requirement.specifier for want in wants if self._is_pinned(self._taken[want.by])]
        return bool(settled) and are_contradictory((wanted.specifier, *settled)) and not are_contradictory(tuple(settled))

    @staticmethod
    def _is_pinned(taken: SelectedPackage) -> bool:
        return bool(taken.requirement) and not taken.chosen

    def _add_required(self) -> None:
        """Take what is wanted and not yet taken."""
        while missing := next((name for name in self._wants if name not in self._taken and self._agreed_version(name)), ""):
            self._add(SelectedPackage(missing, self._agreed_version(missing), set(), "", chosen=not self._required_pins(missing)))

    def _agreed_version(self, name: str) -> str:
        """The version that all wants agree on; empty if they do not, or if the tables list no release: nothing would be installed."""
        everybody = self._joined_specifier(name)
        pins = self._required_pins(name)
        if pins:
            return (
                self._version_with_build(name, self._tables.table_spelling(name, pins[0]))
                if satisfies(pins[0], everybody) is not False
                else ""
            )
        fitting = [row for release, row in self._tables.releases(name) if satisfies(release, everybody)]
        return self._best_release(name, "") if fitting and not self._is_older_than_listed(name, fitting, everybody) else ""

    def _is_older_than_listed(self, name: str, fitting: list[FrameworkRelease | None], specifier: str) -> bool:
        """Whether an installer would look for a release from before the tables: all that fit are for newer Python versions than this one."""
        python, rows = versions.parse_version(self._python or ""), [row for row in fitting if row is not None and row.pythons]
        oldest = next((release for release, _ in self._tables.releases(name)), "")
        if python is None or not rows or len(rows) < len(fitting) or not allows_older(specifier, oldest):
            return False
        return all(python < least for row in rows if (least := versions.parse_version(row.pythons[0])) is not None)

    def _version_with_build(self, name: str, version: str) -> str:
        """The version with its build's local version, where the installer would find that build or sees no other."""
        build = self._builds.get(name)
        if build is None or "+" in version or not (build.only or self._tables.has_build(name, version, build.local)):
            return version
        return f"{version}+{build.local}"

    def _joined_specifier(self, name: str) -> str:
        limits = (self._limits[name].specifier,) if name in self._limits else ()
        return ",".join(filter(None, (*limits, *(want.requirement.specifier for want in self._wants.get(name, ())))))

    def _required_pins(self, name: str) -> list[str]:
        return [pin for want in self._wants.get(name, ()) if (pin := only_version(want.requirement.specifier)) is not None]

    def _choose_again(self) -> bool:
        """Drop a package whose version no longer suits what was wanted of it later, or choose again what was stated; whether there was one."""
        changed = False
        for taken in [one for one in self._taken.values() if one.chosen or not one.requirement]:
            version = (
                self._best_release(taken.name, self._stated[taken.name].specifier)
                if taken.requirement
                else self._agreed_version(taken.name)
            )
            if version != taken.version:
                self._remove_requirements(self._taken.pop(taken.name))
                if taken.requirement:
                    self._add(msgspec.structs.replace(taken, version=version))
                changed = True
        return changed

    def _remove_requirements(self, taken: SelectedPackage) -> None:
        for name, wants in self._wants.items():
            self._wants[name] = [want for want in wants if want.who != taken.label]

    def _drop_unrequired(self) -> None:
        """Drop what only a dropped release wanted."""
        while gone := [taken for taken in self._taken.values() if not taken.requirement and not self._wants[taken.name]]:
            self._remove_requirements(self._taken.pop(gone[0].name))

    def _add(self, taken: SelectedPackage) -> None:
        taken.extras |= {normalise_distribution(extra) for want in self._wants.get(taken.name, ()) for extra in want.requirement.extras}
        self._taken[taken.name] = taken
        row = self._tables.row(taken.name, taken.version)
        if row is None:
            return
        if taken.requirement:
            self._drop_unknown_extras(taken, row)
            self._pythons = tuple(python for python in row.pythons if not self._pythons or python in self._pythons) or self._pythons
        for wanted in self._requirements_of(row, self._included_extras(row, taken.extras)):
            if wanted.name == taken.name:
                continue
            self._wants.setdefault(wanted.name, []).append(PackageDemand(wanted, taken.name, taken.label))
            there = self._taken.get(wanted.name)
            extras = {normalise_distribution(extra) for extra in wanted.extras}
            if there is not None and not extras <= there.extras:
                self._remove_requirements(there)
                self._add(msgspec.structs.replace(there, extras=there.extras | extras))

    def _drop_unknown_extras(self, taken: SelectedPackage, row: FrameworkRelease) -> None:
        """Drop extras that a release lacks: an installer only warns of them. The tables list only extras that matter to a GPU."""
        for extra in sorted(taken.extras):
            if not any(f'extra=="{extra}"' in text for text in row.requires):
                taken.unknown_extras.add(extra)
                taken.extras.discard(extra)

    def _included_extras(self, row: FrameworkRelease, extras: set[str]) -> set[str]:
        """Extras and those that they include: sglang[all] requires sglang[srt]."""
        while True:
            own = (wanted for wanted in self._requirements_of(row, extras) if wanted.name == row.distribution)
            included = {normalise_distribution(extra) for wanted in own for extra in wanted.extras}
            if included <= extras:
                return extras
            extras = extras | included

    def _requirements_of(self, row: FrameworkRelease, extras: Iterable[str]) -> Iterator[Requirement]:
        """What a release requires here, with these extras."""
        if self._alone:
            return
        environment = self._markers_for(row)
        others = self._matrix.other_requirements(row.distribution, row.release) if len(self._stated) > 1 else ()
        of_stated = (other.requirement for other in others if other.package in self._stated)
        chosen_freely = row.distribution not in self._stated
        for wanted in parse_requirements((*row.requires, *of_stated)):
            suits = (BESIDE_EXTRA,) if chosen_freely and wanted.name in self._stated else ()
            if marker_holds(wanted.marker, environment, (*extras, *suits)):
                yield wanted

    def _markers_for(self, row: FrameworkRelease) -> dict[str, str]:
        """The marker variables; without a stated Python, of the newest that all stated packages have wheels for."""
        assumed = (self._pythons or row.pythons)[-1:]
        of_python = wheel_platform.python_markers(assumed[0]) if self._python is None and assumed else {}
        return {**self._environment, **of_python}

    def _best_release(self, name: str, specifier: str) -> str:
        """The newest release that everybody accepts and that can be installed here, or as close as possible."""
        everybody = ",".join(filter(None, (specifier, self._joined_specifier(name))))
        published = list(self._tables.releases(name))
        fitting = [(release, row) for release, row in published if satisfies(release, everybody)]
        fitting = fitting or [(release, row) for release, row in published if satisfies(release, specifier)]
        fitting = [(release, row) for release, row in fitting if (name, release) not in self._refused] or fitting
        here = [(release, row) for release, row in fitting if self._is_installable(row)]
        build = self._builds.get(name)
        if build is not None and build.only:
            here = [(release, row) for release, row in here if self._tables.has_build(name, release, build.local)] or here
        agreeing = (release for release, row in reversed(here) if row is None or not self._is_contradictory(row))
        return self._version_with_build(name, next(agreeing, (here or fitting)[-1][0]))

    def _is_installable(self, row: FrameworkRelease | None) -> bool:
        if row is None:
            return True
        wanted = self._pythons if self._python is None else (self._python,)
        python = not wanted or any(wheel_platform.has_wheel(row, one) for one in wanted)
        loads = not self._libc or is_accepted(self._matrix.tags(row.distribution, self._platform, row.release), self._libc)
        return row.platform in {self._platform, wheel_platform.ANY_PLATFORM} and row.accelerator != STUB_ACCELERATOR and python and loads

    def _is_contradictory(self, row: FrameworkRelease) -> bool:
        """Whether a release requires something other than what was stated, what the other taken packages exclude, or what has no wheel here."""
        return any(self._excluded(wanted, row.distribution) or self._has_no_wheel(wanted) for wanted in self._requirements_of(row, ()))

    def _has_no_wheel(self, wanted: Requirement) -> bool:
        """Whether no release that meets a requirement has a wheel for this Python; those from before the tables may."""
        key = (wanted.name, wanted.specifier)
        if key not in self._nowhere:
            fitting = [row for release, row in self._tables.releases(wanted.name) if satisfies(release, wanted.specifier)]
            here = any(map(self._is_installable, fitting)) or self._is_older_than_listed(wanted.name, fitting, wanted.specifier)
            self._nowhere[key] = bool(self._python and fitting) and not here
        return self._nowhere[key]

    def _excluded(self, wanted: Requirement, by: str) -> bool:
        there = self._taken.get(wanted.name)
        if there is not None and there.requirement and not there.chosen:
            return satisfies(there.version, wanted.specifier) is False
        limit = self._limits.get(wanted.name)
        if limit is not None and are_contradictory((wanted.specifier, limit.specifier)):
            return True
        others = [want.requirement.specifier for want in self._wants.get(wanted.name, ()) if want.by != by]
        return bool(others) and are_contradictory((wanted.specifier, *others))
