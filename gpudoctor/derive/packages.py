"""The installed or assumed distributions, and which of their requirements on one another are not met.

Requirements come from the installed METADATA, otherwise from the matrix's row of exactly this release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from functools import cached_property

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.demands import Demand, RequirementClash, Violation
from gpudoctor.derive.patches import later_patches, patch_demands, source_of
from gpudoctor.derive.specifiers import (
    BESIDE_EXTRA,
    Requirement,
    are_contradictory,
    is_of_extra,
    marker_holds,
    of_beside,
    parse_requirement,
    satisfies,
)
from gpudoctor.frameworks import CATALOGUE, FrameworkSpec, framework_of, stack_of
from gpudoctor.matrix import FrameworkRelease, MatchKind, Matrix
from gpudoctor.matrix.rows import RequirementSpan
from gpudoctor.matrix.tables import FAULTS
from gpudoctor.snapshot import SUPPOSED, Distribution, Fact, Framework, Missing, Packages, Python, Snapshot

__all__ = ["Stack", "chosen_frameworks", "major", "source_of", "stack_of"]

GPU_EXTRAS = ("with-cuda", "cuda", "cuda11", "cuda12", "cuda13", *(spec.gpu_extra for spec in CATALOGUE if spec.gpu_extra))
"""The extras that install CUDA. Metadata does not record which were requested; their bounds count if their packages are installed."""

_PACKAGES_SHARING_FILES = ("nvidia-cudnn", "nvidia-nccl", "nvidia-nvshmem")
"""Packages that install the same files for every CUDA version (read in the RECORD of their wheels)."""
UNPUBLISHED = "unpublished"
"""The fault of a release that another one requires and the package index lacks."""
DEBIAN_PACKAGES_FOLDER = "/usr/lib/python3/dist-packages"
_USER_REQUEST = Distribution(name="you", version="", where="stated")


class Stack:
    """The distributions of an environment, the first on sys.path for each name, and their requirements."""

    def __init__(self, snapshot: Snapshot, packages: Packages, matrix: Matrix) -> None:
        self.supposed = snapshot.origin == SUPPOSED
        """The environment is not installed yet, and an installer refuses contradictions."""
        self.platform = wheel_platform.platform_name(snapshot.host, snapshot.python)
        """The platform in the matrix's terms; empty if unknown."""
        self.python = minor_version(snapshot.python)
        """The interpreter's minor version, "3.11" or "3.14t"; empty if unknown."""
        self.allowed = packages.pythons
        """In an assumed environment without a stated Python: those that its files allow."""
        self.matrix = matrix
        self.without_gpu_code = frozenset(packages.without_gpu_code)
        self.of_unknown_release = frozenset((*packages.without_release, *(unread.what for unread in packages.unread)))
        self.selected = packages.selected
        """Only some of the environment's distributions are known."""
        self.bounds = {
            wanted.name: Demand(_USER_REQUEST, wanted, _USER_REQUEST.where)
            for wanted in filter(None, map(parse_requirement, packages.bounds))
        }
        """In an assumed environment, by name: what the user allows of packages whose release is unknown."""
        self._environment = _marker_environment(snapshot.python, self.platform)
        self._found: dict[Distribution, FrameworkRelease | None] = {}
        self._possible: dict[str, tuple[list[Demand], list[Demand]]] = {}
        """By name, what a distribution may require, depending on extras, and what a later patch states for it."""
        self.distributions: dict[str, Distribution] = {}
        for distribution in (*packages.distributions, *_frameworks_without_list(snapshot.frameworks)):
            self.distributions.setdefault(distribution.name, distribution)

    def row(self, distribution: Distribution) -> FrameworkRelease | None:
        """The matrix's row of exactly this release, for this platform, or for Linux if the platform is unknown."""
        if distribution not in self._found:
            self._found[distribution] = self._row(distribution, self.platform or wheel_platform.LINUX_X86_64)
        return self._found[distribution]

    def _row(self, distribution: Distribution, wheels: str) -> FrameworkRelease | None:
        found = self.matrix.resolve(distribution.name, distribution.version, wheels)
        return found.row if found.how is MatchKind.EXACT else None

    def elsewhere(self, distribution: Distribution) -> dict[str, FrameworkRelease]:
        """The matrix's rows of exactly this release on other platforms, by platform, Linux on x86_64 first: its metadata speaks for the others."""
        others = dict.fromkeys(
            row.platform
            for row in self.matrix.of_release(distribution.name, distribution.version) or self.matrix.releases(distribution.name)
            if row.platform not in {self.platform, wheel_platform.ANY_PLATFORM}
        )
        ordered = sorted(others, key=lambda platform: platform != wheel_platform.LINUX_X86_64)
        rows = ((wheels, self._row(distribution, wheels)) for wheels in ordered)
        return {wheels: row for wheels, row in rows if row is not None}

    @cached_property
    def rows(self) -> tuple[FrameworkRelease, ...]:
        """The matrix's rows of all distributions that have one."""
        return tuple(row for distribution in self.distributions.values() if (row := self.row(distribution)) is not None)

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """Every requirement that applies here."""
        extras = {
            name: set(distribution.extras if self.supposed else self._installed_extras(distribution))
            for name, distribution in self.distributions.items()
        }
        found: dict[tuple[str, str], Demand] = {}
        while True:  # an extra may require another one's extra
            asked = [
                demand
                for distribution in self.distributions.values()
                for demand in self._demands(distribution, tuple(extras[distribution.name]))
            ]
            fresh = {(demand.by.name, demand.requirement.text): demand for demand in asked}
            if fresh.keys() == found.keys():
                return tuple(fresh.values())
            found = fresh
            for demand in asked:
                extras.setdefault(demand.requirement.name, set()).update(demand.requirement.extras)

    def _installed_extras(self, distribution: Distribution) -> Iterator[str]:
        """The GPU extras with at least one installed package that `one` does not require anyway."""
        always = {demand.requirement.name for demand in self._demands(distribution, ())}
        for extra in GPU_EXTRAS:
            names = {demand.requirement.name for demand in self._demands(distribution, (extra,))}
            if any(name in self.distributions for name in names - always):
                yield extra

    def _demands(self, distribution: Distribution, extras: tuple[str, ...]) -> list[Demand]:
        if distribution.name not in self._possible:
            lines, where = self._requires(distribution)
            read = [found for line in lines if (found := parse_requirement(line)) is not None]
            own = [Demand(distribution, found, where) for found in read]
            row = self.row(distribution) if stack_of(distribution.name) is not None and self.stated(distribution) else None
            later = () if row is None else later_patches(row, self.matrix)
            self._possible[distribution.name] = own, list(patch_demands(distribution, read, later))
        own, of_a_patch = self._possible[distribution.name]
        applying = (demand for demand in own if self._marker_holds(demand.requirement.marker, extras) is True)
        return [*(demand for demand in applying if not self._is_of_another_build(demand.requirement)), *of_a_patch]

    def _is_of_another_build(self, wanted: Requirement) -> bool:
        """Whether a release states this of a framework's distribution that is not here, such as tensorflow-gpu, and requires it no more than the one that is."""
        if not of_beside(wanted.marker) or wanted.name in self.distributions:
            return False
        return wanted.name != (own := framework_of(wanted.name)) or any(framework_of(name) == own for name in self.distributions)

    def _marker_holds(self, marker: str, extras: tuple[str, ...]) -> bool | None:
        """Whether a marker holds; without a stated Python, with each that has wheels of everything."""
        extras = (*extras, BESIDE_EXTRA)
        found = marker_holds(marker, self._environment, extras)
        if found is not None or self.python or not self.supposed:
            return found
        answers = {marker_holds(marker, {**self._environment, **wheel_platform.python_markers(python)}, extras) for python in self._pythons}
        return answers.pop() if len(answers) == 1 else None

    @cached_property
    def _pythons(self) -> frozenset[str]:
        named = [frozenset(python for python in row.pythons if not python.endswith("t")) for row in self.rows if row.pythons]
        allowed = [frozenset(self.allowed.versions)] if self.allowed is not None else []
        return frozenset.intersection(*named, *allowed) if named else frozenset()

    def _requires(self, distribution: Distribution) -> tuple[tuple[str, ...], str]:
        if isinstance(distribution.requires, tuple):
            return distribution.requires, f"the metadata of {distribution.name} in {distribution.where}"
        row = self.row(distribution) or next(iter(self.elsewhere(distribution).values()), None)  # usually the same metadata
        return ((*row.requires, *self._others(row), *_numpy_requirement(row)), source_of(row)) if row is not None else ((), "")

    def _others(self, row: FrameworkRelease) -> Iterator[str]:
        """What a release requires of packages that bear on no GPU, if another one is stated or bounded too; an installed one trains with others, too."""
        yield from (other.requirement for other in self._other_requirements(row) if other.package in self._compared_packages)

    def _other_requirements(self, row: FrameworkRelease) -> tuple[RequirementSpan, ...]:
        return self.matrix.other_requirements(row.distribution, row.release) if self.supposed else ()

    @cached_property
    def _several(self) -> tuple[Distribution, ...]:
        """The stated distributions and bounds, if there are several."""
        stated = tuple(distribution for distribution in self.distributions.values() if distribution.requirement)
        return stated if len(stated) + len(self.bounds) > 1 else ()

    @cached_property
    def _compared_packages(self) -> frozenset[str]:
        """The packages that are stated, those that several stated ones require, and those that lack a release that something requires."""
        rows = filter(None, map(self.row, self._several))
        named = Counter(name for row in rows for name in {other.package for other in self._other_requirements(row)})
        lacking = (fault.distribution for fault in self.matrix.rows(FAULTS) if fault.fault == UNPUBLISHED)
        return frozenset(
            (
                *self.bounds,
                *(distribution.name for distribution in self._several),
                *(name for name, count in named.items() if count > 1),
                *lacking,
            )
        )

    def required(self, row: FrameworkRelease, extras: tuple[str, ...]) -> list[Requirement]:
        """What a release that is not in this environment would require here, with these extras."""
        others = (other.requirement for other in self.matrix.other_requirements(row.distribution, row.release))
        texts = (*row.requires, *others, *(("numpy<2",) if row.numpy_abi == 1 else ()))
        return [
            wanted for wanted in map(parse_requirement, texts) if wanted is not None and self._marker_holds(wanted.marker, extras) is True
        ]

    def is_applicable(self, wanted: Requirement) -> bool | None:
        """Whether a requirement applies here without extras; None if that depends on something not stated, such as the Python version."""
        return self._marker_holds(wanted.marker, ())

    def stated(self, distribution: Distribution) -> bool:
        """Whether it was asked for; in an assumed environment an installer may choose another version of the rest."""
        return not self.supposed or bool(distribution.requirement)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """Every requirement that an installed version does not meet.

        In an assumed environment those of stated packages, if there are any: what an installer adds for them follows from these. In another
        one nobody knows whether an extra was asked for, so its narrower bound counts only where the package itself has none.
        """
        pairs = [(demand, self.distributions.get(demand.requirement.name)) for demand in self.demands]
        unmet = [
            Violation(demand, found)
            for demand, found in pairs
            if found is not None and self.stated(found) and satisfies(found.version, demand.requirement.specifier) is False
        ]
        if not self.supposed:
            bounded = {(demand.by.name, demand.requirement.name) for demand, _ in pairs if not is_of_extra(demand.requirement.marker)}
            unmet = [violation for violation in unmet if not _is_from_extra(violation.demand, bounded)]
        among_stated = {violation.found.name for violation in unmet if self.stated(violation.demand.by)}
        return tuple(violation for violation in unmet if self.stated(violation.demand.by) or violation.found.name not in among_stated)

    @cached_property
    def patch_violations(self) -> tuple[Violation, ...]:
        """What an installer would choose today for a stated release, and its later patch excludes."""
        pairs = [(demand, self.distributions.get(demand.requirement.name)) for demand in self.demands if demand.patch]
        return tuple(
            Violation(demand, found)
            for demand, found in pairs
            if found is not None and not self.stated(found) and satisfies(found.version, demand.requirement.specifier) is False
        )

    @cached_property
    def absent(self) -> tuple[Demand, ...]:
        """What frameworks require and the environment does not have; those of conda and of Debian have other dependencies than their metadata says."""
        installed = (
            distribution
            for distribution in self.distributions.values()
            if distribution.installer != "conda" and not distribution.where.startswith(DEBIAN_PACKAGES_FOLDER)
        )
        return self._wanted((distribution, line) for distribution in installed for line in distribution.lacks)

    @cached_property
    def hollow(self) -> tuple[Demand, ...]:
        """What frameworks require and what has only its metadata left here; each requires the version that was installed."""
        return self._wanted((distribution, one.requirement) for distribution in self.distributions.values() for one in distribution.hollow)

    def _wanted(self, lines: Iterable[tuple[Distribution, str]]) -> tuple[Demand, ...]:
        """The requirements of distributions that hold for this Python and platform."""
        wanted = ((distribution, found) for distribution, line in lines if (found := parse_requirement(line)))
        return tuple(
            Demand(distribution, found, self._requires(distribution)[1])
            for distribution, found in wanted
            if self._marker_holds(found.marker, ()) is True
        )

    @cached_property
    def overwriting_packages(self) -> list[list[Distribution]]:
        """The packages of one library for several CUDA versions, which overwrite each other: nvidia-nccl-cu12 and nvidia-nccl-cu13."""
        groups = (
            [found for name, found in self.distributions.items() if name.rpartition("-cu")[0] == library]
            for library in _PACKAGES_SHARING_FILES
        )
        return [group for group in groups if len(group) > 1]

    @cached_property
    def requirement_clashes(self) -> tuple[RequirementClash, ...]:
        """Requirements with no common version, on packages whose version was not stated."""
        if not self.supposed:
            return ()
        wanted: dict[str, list[Demand]] = {name: [demand] for name, demand in self.bounds.items()}
        for demand in self.demands:
            found = self.distributions.get(demand.requirement.name)
            if demand.requirement.specifier and (found is None or not self.stated(found)):
                wanted.setdefault(demand.requirement.name, []).append(demand)
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, demands in wanted.items():
            if are_contradictory(tuple(demand.requirement.specifier for demand in demands)):
                groups.setdefault(tuple(dict.fromkeys(demand.by.name for demand in demands)), []).append(name)
        return tuple(RequirementClash(names[0], tuple(wanted[names[0]]), tuple(names[1:])) for names in groups.values())

    def excludes(self, name: str, specifier: str) -> bool:
        """Return whether the user's bounds and the requirements on a package leave no version that the specifier allows."""
        demands = [demand for demand in (*self.bounds.values(), *self.demands) if demand.requirement.name == name]
        return are_contradictory((specifier, *(demand.requirement.specifier for demand in demands)))

    @cached_property
    def built_for_numpy_1(self) -> tuple[tuple[Distribution, FrameworkRelease], ...]:
        """The distributions whose compiled modules only run with NumPy 1, according to their binaries."""
        rows = (
            (distribution, self.row(distribution)) for distribution in self.distributions.values() if _computes_on_gpu(distribution.name)
        )
        return tuple((distribution, row) for distribution, row in rows if row is not None and row.numpy_abi == 1)


def chosen_frameworks(distribution: Distribution, others: Iterable[str], matrix: Matrix) -> tuple[FrameworkSpec, ...]:
    """The frameworks beside a package that computes with any of them, as a setting says, and requires none: JAX beside Keras 3."""
    oldest, release = matrix.bound(distribution.name, "any-framework"), versions.parse_version(distribution.version.partition("+")[0])
    if oldest is None or release is None or release < oldest:
        return ()
    beside = {framework_of(name) for name in others}
    return tuple(spec for spec in CATALOGUE if distribution.name in spec.chosen_by and spec.name in beside)


def _computes_on_gpu(name: str) -> bool:
    """Whether a distribution is part of a framework, or computes on the GPU with arrays of NumPy itself."""
    return stack_of(name) is not None or name.startswith(("cupy", "onnxruntime"))


def _numpy_requirement(row: FrameworkRelease) -> tuple[str, ...]:
    """What the modules of another package require, whatever its METADATA leaves open; of frameworks a rule compares them."""
    return ("numpy<2",) if row.numpy_abi == 1 and not _computes_on_gpu(row.distribution) else ()


def _is_from_extra(demand: Demand, bounded: Container[tuple[str, str]]) -> bool:
    """Return whether an extra narrows what its package requires of the same distribution anyway."""
    return is_of_extra(demand.requirement.marker) and (demand.by.name, demand.requirement.name) in bounded


def major(version: str) -> int | None:
    """The major number of a version."""
    parsed = versions.parse_version(version)
    return parsed.major if parsed else None


def minor_version(python: Python | Missing) -> str:
    """The interpreter as wheels name it, "3.11" or, without the GIL, "3.14t"; empty if unknown."""
    text = python.version if isinstance(python, Python) and isinstance(python.version, str) else ""
    parsed = versions.parse_version(text)
    return f"{parsed.short}{'t' if text.endswith('t') else ''}" if parsed else ""


def _marker_environment(python: Python | Missing, word: str) -> dict[str, str]:
    """The known environment markers of PEP 508."""
    environment = wheel_platform.platform_markers(word)
    if isinstance(python, Python) and isinstance(python.version, str):
        cpython = python.implementation in {"cpython", "CPython"} or isinstance(python.implementation, Missing)
        environment |= {"python_version": minor_version(python).rstrip("t"), "python_full_version": python.version.rstrip("t")}
        environment |= {"platform_python_implementation": "CPython", "implementation_name": "cpython"} if cpython else {}
    return environment


def _frameworks_without_list(frameworks: tuple[Framework, ...] | Missing) -> list[Distribution]:
    """The frameworks that were named without a list of packages."""
    found = () if isinstance(frameworks, Missing) else frameworks
    versioned = ((framework.distribution, framework.version) for framework in found if framework.distribution)
    return [Distribution(name, version.value, version.where) for name, version in versioned if isinstance(version, Fact)]
