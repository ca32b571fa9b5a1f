"""What a framework's metadata requires and its environment does not have, or has only the metadata of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.frameworks import NVIDIA_PACKAGES
from gpudoctor.probe import files
from gpudoctor.snapshot import Hollow, Missing, printable_text
from gpudoctor.snapshot.distributions import normalise_distribution

REQUIRES_FIELD = "Requires-Dist:"
HEAD_BYTES = 32 << 10
"""Bytes; the header of torch's METADATA, the longest, takes 7 KiB."""
_EXTRA_MARKER = r"\bextra\s*=="
_AFTER_NAME = r"[^A-Za-z0-9._-]"
_MODULE_SUFFIXES = (".py", ".so", ".pyc")


class PathEntry(msgspec.Struct, frozen=True):
    """An entry of a folder on sys.path, as os.fsdecode gives it."""

    folder: str
    entry: str
    version: str = ""
    """Of metadata."""


class PathContents(msgspec.Struct, frozen=True):
    """What the folders of a sys.path have, each by normalised name, the first first."""

    metadata: dict[str, list[PathEntry]]
    modules: dict[str, list[PathEntry]]

    def lacks(self, lines: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """The requirements on packages that are absent; of each requirement the line and the name that it is about."""
        return tuple(line for line, wanted in _counted_requirements(lines) if wanted not in self.metadata and wanted not in self.modules)

    def hollow(self, lines: Iterable[tuple[str, str]]) -> tuple[Hollow, ...]:
        """The requirements on packages whose files are gone, while their metadata is still there."""
        pairs = ((self._gone(wanted), line, wanted) for line, wanted in _counted_requirements(lines) if wanted in self.metadata)
        return tuple(
            Hollow(printable_text(f"{wanted}=={self.metadata[wanted][0].version}{line.partition(';')[1]}{line.partition(';')[2]}"), modules)
            for modules, line, wanted in pairs
            if modules
        )

    def _gone(self, name: str) -> tuple[str, ...]:
        """The modules that the RECORD of a distribution lists, if none of them exists; unknown ones do."""
        if any(map(_is_importable, self.modules.get(name, ()))):
            return ()
        gone: list[str] = []
        for place in self.metadata[name]:
            roots = _main_roots(_root_files(files.lines_or_empty(f"{place.folder}/{place.entry}/RECORD")), name)
            if not roots or any(os.path.exists(f"{place.folder}/{root}") for root in roots):
                return ()
            gone += (printable_text(root.removesuffix("/__init__.py").partition(".")[0].replace("/", ".")) for root in roots)
        return tuple(dict.fromkeys(gone))


def _counted_requirements(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the requirements that count: the X-ray looks for NVIDIA's files themselves, and an extra is a choice."""
    return ((line, wanted) for line, wanted in lines if not wanted.startswith(NVIDIA_PACKAGES) and not re.search(_EXTRA_MARKER, line))


def _is_importable(place: PathEntry) -> bool:
    """Whether an entry can be imported as more than the folder that an uninstallation leaves."""
    path = f"{place.folder}/{place.entry}"
    return place.entry.endswith(_MODULE_SUFFIXES) or os.path.exists(f"{path}/__init__.py") or os.path.exists(f"{path}/__init__.pyc")


def _root_files(record: Iterable[str]) -> list[str]:
    """The files that importing a distribution starts at: its modules, and the uppermost __init__.py of each folder."""
    paths = (line.partition(",")[0] for line in record)
    own = [path for path in paths if path.endswith((".py", ".so")) and not path.startswith(("../", "/"))]
    modules = [path for path in own if "/" not in path]
    packages: dict[str, str] = {}
    for path in own:
        top = path.partition("/")[0]
        if path.endswith("/__init__.py") and path.count("/") < packages.get(top, "/" * 99).count("/"):
            packages[top] = path
    return [*modules, *packages.values()]


def _main_roots(roots: list[str], name: str) -> list[str]:
    """The module of the distribution's own name, if it has one: what lies beside it is not what others import."""
    return [root for root in roots if normalise_distribution(re.split(r"[/.]", root, maxsplit=1)[0]) == name] or roots


def requirement_lines(path: str) -> list[tuple[str, str]] | Missing:
    """The Requires-Dist lines, all before the first empty line, each with the name of what it requires."""
    text = files.read_text(path, limit=HEAD_BYTES)
    if isinstance(text, Missing):
        return text
    head = text.partition("\n\n")[0]
    wanted = (line[len(REQUIRES_FIELD) :].strip() for line in head.splitlines() if line.startswith(REQUIRES_FIELD))
    return [(line, required_name(line)) for line in wanted]


def required_name(requirement: str) -> str:
    """Return the normalised name of the distribution that a requirement (PEP 508) is about."""
    return normalise_distribution(re.split(_AFTER_NAME, requirement, maxsplit=1)[0])
