"""What the releases that a plan may choose require of one another."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import wheel_platform
from gpudoctor.derive.specifiers import (
    BESIDE_EXTRA,
    Requirement,
    are_contradictory,
    is_of_extra,
    marker_holds,
    only_version,
    parse_requirement,
    parse_requirements,
    satisfies,
)
from gpudoctor.frameworks import NVIDIA_PACKAGES, framework_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.plan.assumed_snapshot import marker_environment
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.choices import Wishes
from gpudoctor.plan.companions import FRAMEWORK_OF_COMPANION


class ReleaseDemands:
    """What releases require on one platform, with the Python versions that may be chosen; each answer is found once."""

    def __init__(self, wishes: Wishes, platform: str, matrix: Matrix) -> None:
        self._wishes = wishes
        self._platform = platform
        self._matrix = matrix
        self._found: dict[tuple[str, str], tuple[Requirement, ...]] = {}
        self._of_choices: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        self._thirds: dict[str, dict[str, str]] = {}
        self._pinned: dict[str, tuple[tuple[FrameworkRelease, str], ...]] = {}

    def disagreement(self, candidate: Candidate, other: Candidate) -> str:
        """Return what a release requires of another and that one does not satisfy; "" if there is nothing."""
        for wanted in self.of(candidate, other.name):
            if satisfies(other.release, wanted.specifier) is False:
                return f"{wanted.name}{wanted.specifier}"
            if candidate.name in FRAMEWORK_OF_COMPANION and not self._is_published_in_build(wanted, other.tag):
                return f"a build of {wanted.name} other than {other.tag}"
        refused = (
            specifiers
            for specifiers in self._common_demands(candidate, other.name)
            if all(satisfies(other.release, text) is False for text in specifiers)
        )
        return next((f"{other.name}{specifiers[0]}" for specifiers in refused), "")

    def _common_demands(self, candidate: Candidate, name: str) -> list[tuple[str, ...]]:
        """Return what the releases of each package that a release requires and does not pin require of another one, if all require something."""
        key = (candidate.requirement, name)
        if key not in self._of_choices:
            lists = (tuple(self._required_specifier(row, name, candidate) for row, _ in rows) for rows in self.unpinned_choices(candidate))
            self._of_choices[key] = [specifiers for specifiers in lists if specifiers and all(specifiers)]
        return self._of_choices[key]

    def _required_specifier(self, row: FrameworkRelease, name: str, candidate: Candidate) -> str:
        texts = (text for text in row.requires if text.startswith(name) and not is_of_extra(text))
        found = (wanted for wanted in parse_requirements(texts) if wanted.name == name and self._is_applicable(wanted, candidate))
        return ",".join(wanted.specifier for wanted in found)

    def has_third_party_conflict(self, candidate: Candidate, other: Candidate) -> bool:
        """Return whether two releases require versions of a third package that exclude each other."""
        mine, theirs = self._third_party_demands(candidate), self._third_party_demands(other)
        return any(are_contradictory((specifier, theirs[name])) for name, specifier in mine.items() if name in theirs)

    def _third_party_demands(self, candidate: Candidate) -> dict[str, str]:
        """Return the specifiers of what a release requires, by name; of CUDA's libraries, which differ between builds, what this build requires."""
        if candidate.requirement not in self._thirds:
            names = {wanted.name for wanted in parse_requirements(candidate.requires)}
            found = {name: self.of(candidate, name) for name in names if not name.startswith(NVIDIA_PACKAGES)}
            for wanted in self._build_requirements(candidate):
                found[wanted.name] = (*found.get(wanted.name, ()), wanted)
            self._thirds[candidate.requirement] = {name: ",".join(wanted.specifier for wanted in every) for name, every in found.items()}
        return self._thirds[candidate.requirement]

    def _build_requirements(self, candidate: Candidate) -> Iterator[Requirement]:
        """Yield what a build requires of NVIDIA's packages, if the tables say so of this build, and of packages that bear on no GPU."""
        built = self._matrix.resolve(candidate.name, candidate.version, self._platform)
        row = built.row
        if row is None:
            return
        of_cuda = (text for text in row.requires if text.startswith(NVIDIA_PACKAGES) and built.nvidia_known)
        others = (other.requirement for other in self._matrix.other_requirements(row.distribution, row.release))
        for wanted in parse_requirements((*of_cuda, *others)):
            if self._is_applicable(wanted, candidate):
                yield wanted

    def of(self, candidate: Candidate, name: str) -> tuple[Requirement, ...]:
        """Return what a release, or one that it pins, requires here of another package."""
        key = (candidate.requirement, name)
        if key not in self._found:
            pinned_rows = (text for row, _ in self.pins(candidate) for text in row.requires if "extra==" not in text)
            row = self._matrix.resolve(candidate.name, candidate.release, self._platform).row
            others = self._matrix.other_requirements(row.distribution, row.release) if row is not None else ()
            beside = (other.requirement for other in others if other.package == name)
            named = (wanted for wanted in parse_requirements((*candidate.requires, *pinned_rows, *beside)) if wanted.name == name)
            self._found[key] = tuple(wanted for wanted in named if self._is_applicable(wanted, candidate))
        return self._found[key]

    def pins(self, candidate: Candidate) -> tuple[tuple[FrameworkRelease, str], ...]:
        """Return the row and requirement of each package that a release pins, or that one of these pins, without frameworks."""
        if candidate.requirement not in self._pinned:
            found: dict[str, FrameworkRelease] = {}
            texts = [*candidate.requires]
            while texts:
                wanted = parse_requirement(texts.pop())
                release = only_version(wanted.specifier) if wanted is not None else None
                if wanted is None or release is None or framework_of(wanted.name) or not self._is_applicable(wanted, candidate):
                    continue
                row = self._matrix.resolve(wanted.name, release, self._platform).row
                if row is not None and f"{wanted.name}=={release}" not in found:
                    found[f"{wanted.name}=={release}"] = row
                    texts += [text for text in row.requires if "extra==" not in text]
            self._pinned[candidate.requirement] = tuple((row, text) for text, row in found.items())
        return self._pinned[candidate.requirement]

    def unpinned_choices(self, candidate: Candidate) -> Iterator[tuple[tuple[FrameworkRelease, str], ...]]:
        """Yield the rows and requirements of the releases that suit, newest first, for each package that a release requires and does not pin."""
        for wanted in parse_requirements(candidate.requires):
            if only_version(wanted.specifier) is None and not framework_of(wanted.name) and self._is_applicable(wanted, candidate):
                here = (
                    row
                    for row in reversed(self._matrix.releases(wanted.name))
                    if row.platform in {self._platform, wheel_platform.ANY_PLATFORM}
                )
                yield tuple((row, f"{wanted.name}=={row.release}") for row in here if satisfies(str(row.release), wanted.specifier))

    def _is_applicable(self, wanted: Requirement, candidate: Candidate) -> bool:
        """Return whether a release requires something here with every Python version that may be chosen."""
        plain = [python for python in candidate.pythons if not python.endswith("t")]
        pythons = (self._wishes.python,) if self._wishes.python or not plain else plain
        environments = (marker_environment(python, self._platform) for python in pythons)
        return all(
            marker_holds(wanted.marker, environment, (*(candidate.active or candidate.extras), BESIDE_EXTRA)) is True
            for environment in environments
        )

    def _is_published_in_build(self, wanted: Requirement, tag: str) -> bool:
        """Return whether a companion is published in a build: in those of the first release of the framework that it requires."""
        first = next((row for row in self._matrix.releases(wanted.name) if satisfies(str(row.release), wanted.specifier)), None)
        return first is None or not tag or not first.builds or tag in first.builds
