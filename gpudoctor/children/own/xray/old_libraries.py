"""Libraries in the process that lack a symbol version which another file needs of them: the loader refuses that file, and the import fails."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpudoctor.children.own.xray.patient import BASE, Around, Patient
from gpudoctor.elf.file import Elf
from gpudoctor.elf.loader import LoadedObject
from gpudoctor.elf.symbol_versions import missing_version
from gpudoctor.elf.system import CannotLoad

LACKS_VERSION = "lacks-version"


class OldLibrary(NamedTuple):
    """A library that lacks a version."""

    library: LoadedObject
    version: str
    """GLIBCXX_3.4.29."""
    needed_by: str
    instead: str
    """A file of that name where the loader looks without variables, if it has the version; empty if there is none."""

    @property
    def why(self) -> str:
        """The version and how the loader finds the file, as a phrase."""
        return f"no {self.version}; found by {self.library.way.words}"


def old_libraries(patient: Patient) -> Iterator[OldLibrary]:
    """The first such library for each file that was loaded."""
    for needing in patient.loader.objects:
        found = old_library_of(patient, needing.path, needing.elf)
        if found is not None:
            yield found


def old_library_of(patient: Patient, path: str, elf: Elf) -> OldLibrary | None:
    """The library that keeps a file from loading; None if there is none, or the file cannot be read."""
    place = patient.around.system.place
    for name in elf.needed:
        library = None if name in BASE or name.startswith("ld-linux") else patient.loader.loaded(name)
        if library is None or library.elf.version_definitions <= 0:
            continue
        try:
            version = missing_version(place(path), elf, name, place(library.path), library.elf)
        except OSError:
            continue
        if version:
            return OldLibrary(library, version, path, _other_copy(patient.around, path, elf, name, library))
    return None


def _other_copy(around: Around, path: str, elf: Elf, name: str, library: LoadedObject) -> str:
    for copy in _usual_places(around, name):
        other = _readable(around, copy)
        if other is not None and other.identity != library.elf.identity:
            return "" if missing_version(around.system.place(path), elf, name, around.system.place(copy), other) else copy
    return ""


def _readable(around: Around, path: str) -> Elf | None:
    try:
        return around.system.elf(path)
    except CannotLoad:
        return None


def _usual_places(around: Around, name: str) -> Iterable[str]:
    """Where the loader finds a library without variables and paths in files: its cache, then its folders."""
    cached = around.setting.cache.get(name)
    return (*([cached] if cached else []), *(os.path.join(folder, name) for folder in around.setting.defaults))
