"""Finds the smallest part of what was asked for that nothing satisfies on a machine, and the nearest that works."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.frameworks import framework_of
from gpudoctor.plan.choices import Chosen, Wishes
from gpudoctor.plan.search import ReleaseSearch


class NearestAnswer(msgspec.Struct, frozen=True):
    """The nearest to what was asked for that works."""

    found: Chosen
    search: ReleaseSearch
    wishes: Wishes
    """Other releases than those that were stated, another Python, or fewer packages."""


class Contradiction(msgspec.Struct, frozen=True):
    """What prevents a plan."""

    packages: tuple[str, ...]
    """One that works in no set, or several that work only without each other."""
    search: ReleaseSearch
    """The search for these alone."""
    nearest: NearestAnswer | None
    """None: nothing works."""


class _Attempts:
    """Searches for parts of what was asked for, each once."""

    def __init__(self, whole: ReleaseSearch, wishes: Wishes) -> None:
        self._whole = whole
        self._wishes = wishes
        self._known = {tuple(wishes.requirements): whole}

    def of(self, wishes: Wishes) -> _Attempts:
        """Return the attempts for other wishes about the same packages."""
        return _Attempts(self._whole.for_wishes(wishes), wishes)

    def part(self, names: tuple[str, ...]) -> Wishes:
        """Return the wishes for some of the packages."""
        return msgspec.structs.replace(self._wishes, requirements={name: self._wishes.requirements[name] for name in names})

    def search(self, names: tuple[str, ...]) -> ReleaseSearch:
        """Return the search for some of the packages, as they were stated."""
        if names not in self._known:
            self._known[names] = self._whole.for_wishes(self.part(names))
        return self._known[names]

    def has_no_answer(self, names: tuple[str, ...]) -> bool:
        """Return whether nothing works for these packages."""
        search = self.search(names)
        return bool(search.leads) and search.best_set is None

    def nearest(self, wishes: Wishes) -> NearestAnswer | None:
        """Return what works for other wishes."""
        if wishes == self._wishes:
            return None
        search = self._whole.for_wishes(wishes)
        found = search.best_set if search.leads else None
        return NearestAnswer(found, search, wishes) if found is not None and found.conclusion.works else None


def find_contradiction(whole: ReleaseSearch, wishes: Wishes) -> Contradiction:
    """Return what prevents a plan; `whole` found none."""
    attempts = _Attempts(whole, wishes)
    unusable = [name for name, requirement in wishes.requirements.items() if requirement.text == whole.unusable_requirement]
    core = tuple(unusable) or _smallest_conflict(attempts, tuple(wishes.requirements))
    nearest = (found for other in _changed_wishes(core, attempts, wishes) if (found := attempts.nearest(other)) is not None)
    return Contradiction(core, whole if unusable else attempts.search(core), next(nearest, None))


def _smallest_conflict(attempts: _Attempts, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first package that works in no set; without one, packages that all prevent a plan together."""
    alone = next((name for name in names if attempts.has_no_answer((name,))), None)
    if alone is not None:
        return (alone,)
    for name in names:
        rest = tuple(other for other in names if other != name)
        if attempts.has_no_answer(rest):
            return _smallest_conflict(attempts, rest)
    return names


def _changed_wishes(core: tuple[str, ...], attempts: _Attempts, wishes: Wishes) -> Iterator[Wishes]:
    """Yield what to ask for instead, the smallest change first: other builds or releases, another Python, the newest releases, fewer packages."""
    add_ons_first = sorted(core, key=lambda name: framework_of(name) is not None)
    yield _wishes_with_change(
        wishes, core, lambda requirement: msgspec.structs.replace(requirement, specifier=re.sub(r"\+\w+", "", requirement.specifier))
    )
    python = msgspec.structs.replace(wishes, python="")
    if all("==" in wishes.requirements[name].specifier for name in core):
        yield python
    for names in (*((name,) for name in add_ons_first), core):
        yield _wishes_with_change(wishes, names, _unbounded_requirement)
    yield from _widened_wishes(core, attempts, wishes)
    yield python
    if wishes.near:
        yield msgspec.structs.replace(_wishes_with_change(wishes, core, _unbounded_requirement), near={})
    for name in add_ons_first:
        yield _wishes_without(name, attempts, wishes)


def _widened_wishes(core: tuple[str, ...], attempts: _Attempts, wishes: Wishes) -> Iterator[Wishes]:
    """Yield the wishes with more and more packages freed: each time those that prevent a plan then, such as an add-on built for one framework release."""
    freed = core
    while True:
        changed = _wishes_with_change(wishes, freed, _unbounded_requirement)
        further = _smallest_conflict(attempts.of(changed), tuple(wishes.requirements))
        if set(further) <= set(freed):
            return
        freed = tuple(dict.fromkeys((*freed, *further)))
        yield _wishes_with_change(wishes, freed, _unbounded_requirement)


def _wishes_with_change(wishes: Wishes, names: Iterable[str], change: Callable[[Requirement], Requirement]) -> Wishes:
    changed = {name: change(wishes.requirements[name]) for name in names}
    return msgspec.structs.replace(wishes, requirements={**wishes.requirements, **changed})


def _unbounded_requirement(requirement: Requirement) -> Requirement:
    """Return the requirement for any release, with the CUDA that suits the machine."""
    return msgspec.structs.replace(
        requirement, text=requirement.name, specifier="", extras=tuple(extra for extra in requirement.extras if "cuda" not in extra)
    )


def _wishes_without(name: str, attempts: _Attempts, wishes: Wishes) -> Wishes:
    """Return the wishes without a package, and without others as long as something still prevents a plan."""
    rest = tuple(other for other in wishes.requirements if other != name)
    while rest and attempts.has_no_answer(rest):
        gone = _smallest_conflict(attempts, rest)[0]
        rest = tuple(other for other in rest if other != gone)
    return attempts.part(rest)
