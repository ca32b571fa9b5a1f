"""The symbol versions that an ELF file needs of each library, and those that a library defines: the loader refuses a file whose library lacks one.

As glibc's dl-version.c compares them: by hash and name. A library without versions only earns a warning.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from gpudoctor.elf.file import Elf

_TABLE_BYTES = 16 << 10
"""Bytes of a table: libstdc++, which defines the most versions, takes 3 kB."""
_NAME_BYTES = 128
_WEAK = 2  # VER_FLG_WEAK of elf.h: the loader does not insist
_NEED, _NEEDED_VERSION = Struct("<HHIII"), Struct("<IHHII")
_DEFINITION = Struct("<HHHHIII")


class _Version(NamedTuple):
    hashed: int
    name: int
    """Offset in the string table."""


def _age(version: str) -> tuple[bool, list[int]]:
    """The sort key of a version such as GLIBCXX_3.4.29, by which releases of GCC are known; CXXABI's come before."""
    return version.startswith("GLIBCXX_"), [int(part) for part in version.rpartition("_")[2].split(".") if part.isdecimal()]


class _Tables:
    """One open file."""

    def __init__(self, path: str, elf: Elf) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._strings = elf.strings[0]

    def at(self, offset: int) -> bytes:
        return os.pread(self._descriptor, _TABLE_BYTES, offset) if offset > 0 else b""

    def text(self, name: int) -> str:
        return os.fsdecode(os.pread(self._descriptor, _NAME_BYTES, self._strings + name).partition(b"\0")[0])

    def close(self) -> None:
        os.close(self._descriptor)


def missing_version(path: str, elf: Elf, soname: str, library_path: str, library: Elf) -> str:
    """The newest symbol version that the file at `path` needs of a library and that this one does not define; empty if there is none. Raises OSError."""
    if not elf.little or elf.bits != 64 or elf.version_needs <= 0:
        return ""
    needing = _Tables(path, elf)
    try:
        needed = _needed_versions(needing, elf, soname)
        defined = _defined_versions(library_path, library) if needed else frozenset()
        missing = [needing.text(one.name) for one in needed if one.hashed not in defined] if defined else []
        return max(missing, key=_age, default="")
    finally:
        needing.close()


def _needed_versions(tables: _Tables, elf: Elf, soname: str) -> list[_Version]:
    """Read Elf64_Verneed and Elf64_Vernaux; each holds the offset of the next."""
    data, place = tables.at(elf.version_needs), 0
    name = elf.needed_at[elf.needed.index(soname)] if soname in elf.needed else -1  # linkers store the name once
    while place + _NEED.size <= len(data):
        _, count, file, first, following = _NEED.unpack_from(data, place)
        if file == name or (file not in elf.needed_at and tables.text(file) == soname):
            return list(_versions_at(data, place + first, count))
        if not following:
            break
        place += following
    return []


def _versions_at(data: bytes, place: int, count: int) -> Iterator[_Version]:
    for _ in range(count):
        if place + _NEEDED_VERSION.size > len(data):
            return
        hashed, flags, _, name, following = _NEEDED_VERSION.unpack_from(data, place)
        if not flags & _WEAK:
            yield _Version(hashed, name)
        if not following:
            return
        place += following


@functools.cache
def _defined_versions(path: str, elf: Elf) -> frozenset[int]:
    """The hashes of the versions in Elf64_Verdef; empty for a library without versions."""
    if elf.version_definitions <= 0 or not elf.little or elf.bits != 64:
        return frozenset()
    tables = _Tables(path, elf)
    try:
        data = tables.at(elf.version_definitions)
    finally:
        tables.close()
    found, place = set(), 0
    while place + _DEFINITION.size <= len(data):
        _, _, _, _, hashed, _, following = _DEFINITION.unpack_from(data, place)
        found.add(hashed)
        if not following:
            return frozenset(found)
        place += following
    return frozenset()  # longer than any known table
