"""Searches the tables for the newest set of releases that works on a machine, by the rules that check a real one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product, takewhile

from gpudoctor.derive.nearness import nearness_order
from gpudoctor.derive.specifiers import are_contradictory, satisfies
from gpudoctor.findings import Verdict
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import Matrix
from gpudoctor.plan.answers import SearchAnswers
from gpudoctor.plan.assumed_machine import AssumedMachine
from gpudoctor.plan.candidates import Candidate, candidates
from gpudoctor.plan.checker import Checker, Conclusion
from gpudoctor.plan.choices import Chosen, Rejected, Wishes
from gpudoctor.plan.companions import FRAMEWORK_OF_COMPANION, companions_with_framework, set_in_one_build
from gpudoctor.plan.python_choice import PythonChoice
from gpudoctor.plan.release_demands import ReleaseDemands
from gpudoctor.plan.searched_packages import other_requirements, searched_packages, unlisted_packages
from gpudoctor.snapshot import Nvml

MAX_CHECKS = 400
"""Sets of releases that one search checks: about a second."""
_CHECKS_AFTER_UNKNOWN = 30
"""Sets of several packages that one search checks after the first that may work, to find one of which everything was checked."""


class ReleaseSearch:
    """One search on one machine."""

    def __init__(
        self,
        wishes: Wishes,
        machine: AssumedMachine,
        matrix: Matrix,
        until: float = float("inf"),
        checker: Checker | None = None,
        *,
        other_driver: SearchAnswers | None = None,
    ) -> None:
        self._wishes = wishes
        self.machine = machine
        self.matrix = matrix
        self._until = until
        self._gpu = isinstance(machine.nvml, Nvml) and bool(machine.nvml.gpus)
        self.leads = searched_packages(wishes, matrix, of_mac=machine.platform.startswith("macos") and not isinstance(machine.nvml, Nvml))
        """The packages whose release is searched for, in the order of the search."""
        self.unlisted = unlisted_packages(wishes, matrix)
        """The stated packages that no table knows."""
        self._checker = checker or Checker(machine, matrix, frozenset((*self.unlisted, "numpy")), intact=wishes.intact)
        self._most = self._checker.count + MAX_CHECKS
        self._lists: dict[str, tuple[Candidate, ...]] = {}
        self.demands = ReleaseDemands(wishes, machine.platform, matrix)
        self.pythons = PythonChoice(wishes, self.demands, self.candidates)
        self.answers = SearchAnswers(
            self._checker,
            wishes.requirements,
            other_requirements(wishes, self.leads),
            self.demands,
            self.pythons,
            other_driver=other_driver,
        )
        self._unknown: Chosen | None = None
        """The newest set that may work but was not fully checked."""
        self._unchecked: set[Candidate] = set()
        """Add-ons that could not be checked although all beside them was."""
        self.clashes: list[Chosen] = []
        """Sets of releases that work alone and not together."""
        self.gave_up = False
        """Whether sets remain that were not checked."""

    def for_wishes(self, wishes: Wishes) -> ReleaseSearch:
        """Return a search for other wishes about the same packages, or some of them, on the same machine."""
        return ReleaseSearch(wishes, self.machine, self.matrix, self._until, self._checker)

    @property
    def checked_sets(self) -> int:
        """How many sets the rules were run on."""
        return self._checker.count

    @cached_property
    def best_set(self) -> Chosen | None:
        """The newest set that works; otherwise the newest that may work but was not fully checked; None if nothing may."""
        for found in self._checked(self._candidate_sets(tuple(self.leads), ())):
            if found.conclusion.works:
                return found if found.conclusion.verdict is Verdict.READY else self._best_build(found)
            if self._unknown is None and len(self.leads) > 1:
                self._most = min(self._most, self._checker.count + _CHECKS_AFTER_UNKNOWN)
            self._keep(found)
        return self._unknown

    @cached_property
    def unusable_requirement(self) -> str:
        """What was asked for beside the searched packages and works with none of their releases, such as a release that does not exist."""
        found = {python for name in self.leads for candidate in self.candidates(name) for python in candidate.pythons}
        return self.answers.unusable_requirement((self._wishes.python,) if self._wishes.python else sorted(found))

    def _keep(self, found: Chosen) -> None:
        """Remember a set that was not fully checked; of those with the newest add-on, the one with the most packages checked."""
        unchecked = {one.package for one in found.conclusion.unchecked}
        if len(unchecked) == 1:
            self._unchecked |= {
                candidate for candidate in found.candidates if candidate.name in unchecked and framework_of(candidate.name) is None
            }
        kept = self._unknown
        if kept is None or (found.candidates[0] == kept.candidates[0] and len(found.conclusion.unchecked) < len(kept.conclusion.unchecked)):
            self._unknown = found

    def _best_build(self, found: Chosen) -> Chosen:
        """Return the same releases in builds without a warning, if there are any."""
        lists = [[candidate for candidate in self.candidates(name) if candidate.release == found.of(name).release] for name in self.leads]  # type: ignore[union-attr]
        others = self._checked(set_in_one_build(chosen) for chosen in product(*lists))
        return next((other for other in others if other.conclusion.verdict is Verdict.READY), found)

    def _checked(self, sets: Iterable[tuple[Candidate, ...]]) -> Iterator[Chosen]:
        """Yield the sets that are not known to be broken, each with its answer."""
        for chosen in sets:
            if self._checker.count > self._most or time.process_time() > self._until:
                self.gave_up = True
                return
            found = self.answers.of(chosen)
            if found.conclusion.verdict is not Verdict.BROKEN:
                yield found
            elif len(chosen) > 1:
                self.clashes.append(found)
            else:
                self.answers.rejected.append(Rejected(chosen[0], found.conclusion))
            if found.conclusion.of_machine or (found.conclusion.verdict is Verdict.BROKEN and self.unusable_requirement):
                return

    def _candidate_sets(self, names: tuple[str, ...], chosen: tuple[Candidate, ...]) -> Iterator[tuple[Candidate, ...]]:
        if not names:
            yield set_in_one_build(chosen)
            return
        for candidate in self.candidates(names[0]):
            if (
                any(self._is_excluded_by(other, candidate) for other in chosen)
                or not self._has_wheels((*chosen, candidate))
                or self._is_against_wishes(candidate)
            ):
                continue
            if not self._is_hopeless(candidate):
                yield from self._candidate_sets(names[1:], (*chosen, candidate))
                if any(map(self._is_hopeless, chosen)):  # by what the search found meanwhile
                    return

    def _is_excluded_by(self, candidate: Candidate, other: Candidate) -> bool:
        """Return whether two releases exclude each other; the first set that disagrees about a third package is checked, to say so."""
        direct = self.demands.disagreement(candidate, other) or self.demands.disagreement(other, candidate)
        return bool(direct) or (bool(self.clashes) and self.demands.has_third_party_conflict(candidate, other))

    def _has_wheels(self, chosen: tuple[Candidate, ...]) -> bool:
        """Return whether some allowed Python version has wheels of all."""
        return self.pythons.allowed_pythons(chosen) != set()

    def candidates(self, name: str) -> tuple[Candidate, ...]:
        """Return the candidates of a package, the nearest to the stated release first, or the newest."""
        if name not in self._lists:
            found = tuple(candidates(self.matrix, self.leads[name], self.machine.platform, gpu=self._gpu))
            if near := self._wishes.near.get(name):
                found = tuple(sorted(found, key=lambda candidate: nearness_order(candidate.release, near)))
            self._lists[name] = (
                found if name not in FRAMEWORK_OF_COMPANION else companions_with_framework(found, FRAMEWORK_OF_COMPANION[name])
            )
        return self._lists[name]

    def checked_as_stated(self, name: str) -> Conclusion:
        """Return the answer for a package as an installer would take it."""
        return self._checker((self.leads[name].text,), self._wishes.python)

    def releases(self, name: str) -> list[str]:
        """Return the releases of a package that satisfy what was asked, newest first."""
        return list(dict.fromkeys(candidate.release for candidate in self.candidates(name)))

    def is_newest(self, candidate: Candidate) -> bool:
        """Return whether the tables list no newer release of a package that satisfies what the user stated of it."""
        stated = self._wishes.requirements.get(candidate.name)
        rows = self.matrix.releases(candidate.name, self.machine.platform)
        suiting = [str(row.release) for row in rows if stated is None or satisfies(str(row.release), stated.specifier) is not False]
        return suiting[-1:] == [candidate.release]

    def has_only_newest(self, found: Chosen) -> bool:
        """Return whether a set has the newest release of every package."""
        return all(candidate.release == self.releases(candidate.name)[0] for candidate in found.candidates)

    def is_blocked_by_python(self, candidate: Candidate, python: str) -> bool:
        """Return whether all newer releases of a package lack wheels for a Python version."""
        newer = list(takewhile(lambda other: other.release != candidate.release, self.candidates(candidate.name)))
        return bool(newer) and all(other.pythons and python not in other.pythons for other in newer)

    def _is_against_wishes(self, candidate: Candidate) -> bool:
        """Return whether a release excludes what the user stated of another package, such as numpy<2; the newest is checked, to say so."""
        if candidate == self.candidates(candidate.name)[0]:
            return False
        others = ((wish.specifier, name) for name, wish in self._wishes.requirements.items() if name not in self.leads)
        return any(are_contradictory((wanted.specifier, stated)) for stated, name in others for wanted in self.demands.of(candidate, name))

    def _is_hopeless(self, candidate: Candidate) -> bool:
        """Return whether no set with a build can be an answer: it does not work, or cannot be fully checked and a newer set cannot either."""
        if candidate.name in FRAMEWORK_OF_COMPANION or len(self.leads) == 1:
            return False
        conclusion = self.answers.alone(candidate)
        if conclusion.of_machine:
            return False  # every release has this: the first set says so and ends the search
        if conclusion.verdict is Verdict.UNKNOWN:
            return candidate in self._unchecked if framework_of(candidate.name) is None else self._unknown is not None
        return conclusion.verdict is Verdict.BROKEN
