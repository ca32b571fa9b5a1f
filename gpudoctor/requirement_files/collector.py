"""Gathers what the readers find, each statement once."""

from __future__ import annotations

import re

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import parse_wheel_filename

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files.model import BaseImage, FileLine, NotRead, PackageIndex, RequestedPackages, StatedPython, StatedRequirement
from gpudoctor.snapshot.distributions import name_with_extras, normalise_distribution

_MAX_STATEMENTS = 20_000
"""Statements of all files together; the largest real lock files have some 2,000."""


class StatementCollector:
    """The statements of all files."""

    def __init__(self, extras: frozenset[str] = frozenset(), groups: frozenset[str] = frozenset()) -> None:
        self.extras = extras
        """Optional dependencies to read, normalised."""
        self.groups = groups
        """Dependency groups to read, normalised."""
        self._offered: set[str] = set()
        self._files: dict[str, None] = {}
        self._requirements: dict[tuple[object, ...], StatedRequirement] = {}
        self._constraints: dict[tuple[object, ...], StatedRequirement] = {}
        self._indexes: dict[str, PackageIndex] = {}
        self._pythons: dict[str, StatedPython] = {}
        self._not_read: dict[tuple[str, FileLine], NotRead] = {}
        self.image: BaseImage | None = None

    def asked(self) -> RequestedPackages:
        """Everything gathered."""
        return RequestedPackages(
            files=tuple(self._files),
            requirements=tuple(self._requirements.values()),
            constraints=tuple(self._constraints.values()),
            indexes=tuple(self._indexes.values()),
            python=tuple(self._pythons.values()),
            image=self.image,
            not_read=tuple(self._not_read.values()),
        )

    def is_extra_wanted(self, name: str, file: str) -> bool:
        """Whether an extra of a file was named; otherwise it is noted as not read."""
        return self._wanted("--extra", name, self.extras, file)

    def is_group_wanted(self, name: str, file: str) -> bool:
        """Whether a dependency group of a file was named; otherwise it is noted as not read."""
        return self._wanted("--group", name, self.groups, file)

    def _wanted(self, option: str, name: str, named: frozenset[str], file: str) -> bool:
        written = f"{option} {normalise_distribution(name)}"
        self._offered.add(written)
        if normalise_distribution(name) in named:
            return True
        self.not_read(written, "it is installed only on request", FileLine(file, 0), package=False)
        return False

    def refuse_unknown_names(self) -> None:
        """Raise UsageError for an extra or a group that no file has."""
        named = [f"--extra {name}" for name in sorted(self.extras)] + [f"--group {name}" for name in sorted(self.groups)]
        for one in named:
            if one not in self._offered:
                have = ", ".join(sorted(self._offered)) or "no extras and no groups"
                raise UsageError(f"{one}: no file has it; the files have {have}.")

    def file(self, name: str) -> None:
        """Note that a file is read."""
        self._files[name] = None

    def text(self, text: str, place: FileLine, *, constraint: bool = False, index: str | tuple[str, bool] = "") -> None:
        """Take a PEP 508 requirement, or note why it is none."""
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            self.not_read(text, "it is not a requirement", place)
            return
        url, only = (index, True) if isinstance(index, str) else index
        self.add(StatedRequirement(requirement=requirement, places=(place,), index=url, index_only=only), constraint=constraint)

    def add(self, stated: StatedRequirement, *, constraint: bool = False) -> None:
        """Take a requirement; one from an address counts as the release that the wheel's name states."""
        if stated.requirement.url:
            found = requirement_of_wheel(stated.requirement.url, stated.requirement)
            if found is None:
                reason = "it is installed from an address, whose name does not tell the release"
                self.not_read(str(stated.requirement), reason, stated.places[0], name=normalise_distribution(stated.requirement.name))
                return
            stated = msgspec.structs.replace(stated, requirement=found)
        into = self._constraints if constraint else self._requirements
        key = (normalise_distribution(stated.requirement.name), str(stated.requirement), stated.conda, stated.build, stated.index)
        before = into.get(key)
        places = stated.places if before is None else tuple(dict.fromkeys((*before.places, *stated.places)))
        into[key] = msgspec.structs.replace(stated, places=places)
        if len(into) > _MAX_STATEMENTS:
            raise UsageError(f"{stated.places[0]}: the files list more than {_MAX_STATEMENTS} packages; name the ones that matter.")

    def index(self, url: str, place: FileLine, *, only: bool = False) -> None:
        """Take an index."""
        self._indexes.setdefault(url.rstrip("/"), PackageIndex(url.rstrip("/"), place, only))

    def python(self, specifier: str, place: FileLine) -> None:
        """Take what a file says of the interpreter."""
        self._pythons.setdefault(specifier, StatedPython(specifier, place))

    def not_read(self, text: str, reason: str, place: FileLine, *, name: str = "", package: bool = True) -> None:
        """Note a line that was not understood or not followed."""
        shown = " ".join(text.split())[:_MAX_SHOWN]
        self._not_read.setdefault((shown, place), NotRead(shown, reason, place, name, package))


_MAX_SHOWN = 200
_VARIANT_LABEL = re.compile(r"[0-9a-z_.]{1,16}")


def _requirement_of_variant(file: str, named: Requirement | None, marker: str) -> Requirement | None:
    """The release and variant in the name of a variant wheel (PEP 825), torch-2.9.1-cp312-cp312-linux_x86_64-cu128.whl: torch==2.9.1+cu128."""
    stem, _, label = file.removesuffix(".whl").rpartition("-")
    if not _VARIANT_LABEL.fullmatch(label) or not file.endswith(".whl"):
        return None
    name, version, rest = (*stem.split("-", 2), "", "")[:3]
    return requirement_of_wheel(f"{name}-{version}+{label}-{rest}.whl", named, marker) if rest and "+" not in version else None


def requirement_of_wheel(address: str, named: Requirement | None = None, marker: str = "") -> Requirement | None:
    """The release that the file name of a wheel states; None if the address is not a wheel's."""
    file = address.partition("#")[0].partition("?")[0].replace("\\", "/").rpartition("/")[2].replace("%2B", "+").replace("%2b", "+")
    try:
        name, version, _, _ = parse_wheel_filename(file)
    except ValueError:  # also of a number with thousands of digits
        return _requirement_of_variant(file, named, marker)
    named_so = name_with_extras(name, sorted(named.extras) if named is not None else ())
    marker = str(named.marker) if named is not None and named.marker else marker
    try:
        return Requirement(f"{named_so}=={version}{f' ; {marker}' if marker else ''}")
    except InvalidRequirement:
        return None
