"""Reads /etc/ld.so.cache: the file that ldconfig recorded for a soname. Knows both formats, the new one alone or after the old (glibc's dl-cache.h)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import Struct

_OLD = b"ld.so-1.7.0\0"
_NEW = b"glibc-ld.so.cache1.1"
_NEW_ENTRY = Struct("=iIIIQ")
_COUNT = Struct("=I")
_HEADER = 48
MAX_CACHE_BYTES = 16 << 20
"""Bytes; a machine with everything installed has a few hundred thousand."""
_MAX_NAME_LENGTH = 4096
_ELF_LIBC6 = 3
_ARCHITECTURE_FLAGS = {
    ("x86_64", 64): 0x300,
    ("i386", 32): 0x000,
    ("aarch64", 64): 0xA00,
    ("ppc64le", 64): 0x500,
    ("arm", 32): 0x900,
    ("riscv64", 64): 0x1000,
}
"""What ldconfig.h adds to FLAG_ELF_LIBC6 for an architecture's libraries, where that is a single number."""


class Cache:
    """The entries of a cache for one architecture, those for any processor first."""

    __slots__ = ("_data", "_paths")

    def __init__(self, data: bytes = b"", machine: str = "x86_64", bits: int = 64) -> None:
        self._data = data
        self._paths: dict[bytes, int] = {}
        kind = _ARCHITECTURE_FLAGS.get((machine, bits))
        if data and kind is not None:
            self._read(kind | _ELF_LIBC6)

    def _read(self, wanted: int) -> None:
        data = self._data
        place = data.find(_NEW)
        if place < 0 or not data.startswith((_NEW, _OLD)):
            return
        special = []
        for flags, key, value, hwcap in _cache_entries(data, place):
            if flags == wanted:
                if hwcap:
                    special.append((key, value))
                else:
                    self._paths.setdefault(_text_at(data, place + key), place + value)
        for key, value in special:
            self._paths.setdefault(_text_at(data, place + key), place + value)

    def __len__(self) -> int:
        return len(self._paths)

    def get(self, soname: str) -> str | None:
        """The path for `soname`."""
        place = self._paths.get(os.fsencode(soname))
        return os.fsdecode(_text_at(self._data, place)) or None if place is not None else None


def _cache_entries(data: bytes, place: int) -> Iterator[tuple[int, int, int, int]]:
    head = data[place + len(_NEW) : place + len(_NEW) + _COUNT.size]
    count = _COUNT.unpack(head)[0] if len(head) == _COUNT.size else 0
    first = place + _HEADER
    count = min(count, (len(data) - first) // _NEW_ENTRY.size)
    rows = data[first : first + max(count, 0) * _NEW_ENTRY.size]
    for flags, key, value, _, hwcap in _NEW_ENTRY.iter_unpack(rows):
        yield flags, key, value, hwcap


def _text_at(data: bytes, place: int) -> bytes:
    end = data.find(b"\0", place, place + _MAX_NAME_LENGTH)
    return data[place:end] if 0 <= place < end else b""
