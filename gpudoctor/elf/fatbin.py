"""The architectures of GPU code in an ELF file: SASS and PTX, from the headers of its fat binaries, without reading the code.

A section is a row of fat binaries, each a header and one entry per architecture with its payload. NVIDIA does not document the layout;
tests compare it with cuobjdump for every architecture that the installed nvcc compiles for.
The file is mapped: half a gigabyte of torch's kernels take 5 ms, against 81 ms with one read per header. Each page fault maps the
neighbouring pages too, so pages are released as the walk goes on.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from struct import Struct

from gpudoctor.elf import file

_MAGIC = 0xBA55ED50
_MAGIC_BYTES = _MAGIC.to_bytes(4, "little")
_FATBIN = Struct("<IHHQ")  # magic, version, size of this header, size of all entries
_ENTRY = Struct("<HHIQ12xI8xQ")  # kind, version, header's size, payload's size, architecture, flags
_ENTRY_SIZE = 64
_PTX, _SASS = 1, 2
_SPECIFIC, _FAMILY = 1 << 20, 1 << 21
"""Flags of sm_90a and of sm_100f."""
MAX_HEADERS = 200_000
"""In one file; takes a quarter of a second. The largest library seen, cuDNN's precompiled engines, has 7 255."""
_MAX_PADDING = 1 << 16
_RELEASE_AFTER = 32 << 20
"""Bytes of the file after which its pages are released."""
_RARE_SHARE = 4
"""An architecture is rare if fewer than one in this many fat binaries has it, relative to the commonest: torch 2.15 has sm_100 in 476, sm_103f in 59."""


class Architectures:
    """Architectures in one file: `sass` ("sm_90a"), `ptx` ("compute_90"), and why reading stopped early, if it did."""

    __slots__ = ("damage", "fatbins", "few", "ptx", "sass")

    def __init__(self) -> None:
        self.sass: tuple[str, ...] = ()
        self.ptx: tuple[str, ...] = ()
        self.few: tuple[str, ...] = ()
        """Architectures of either kind in only a few of the fat binaries: kernels written for one generation."""
        self.fatbins = 0
        self.damage = ""


def read_gpu_code(path: str, sections: Iterable[tuple[str, int, int]] | None = None) -> Architectures:
    """The code in the file at `path`, whose `sections` are as in Elf. Raises OSError and NotElf, like file.read."""
    wanted = list(file.read_elf_file(path, code=True).sections if sections is None else sections)
    linked = [section for section in wanted if section[0] == file.CODE_SECTIONS[0]]
    code = Architectures()
    if not wanted:
        return code
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
            walk = _FatbinWalk(mapped, code)
            # relocatable code lies beside what was linked from it, and never runs by itself
            for _, offset, size in linked or wanted:
                walk.section(offset, min(offset + size, len(mapped)))
            walk.name_architectures()
    except ValueError as error:  # the file has been truncated since
        code.damage = str(error)
    finally:
        os.close(descriptor)
    return code


class _FatbinWalk:
    """One pass over the sections of a file."""

    def __init__(self, mapped: mmap.mmap, code: Architectures) -> None:
        self._mapped = mapped
        self._code = code
        self._left = MAX_HEADERS
        self._seen: dict[tuple[int, int, int], int] = {}

    def section(self, place: int, end: int) -> None:
        """Read every fat binary between two offsets in the file."""
        behind = place
        while place + _FATBIN.size <= end:
            self._left -= 1
            magic, _, size, entries = _FATBIN.unpack_from(self._mapped, place)
            if magic != _MAGIC:
                place = self._next(place, end)
                if not place:
                    return
                continue
            stop = place + size + entries
            if size < _FATBIN.size or stop > end:
                self._code.damage = "a fat binary's header claims more than its section holds"
                return
            self._code.fatbins += 1
            self._entries(place + size, stop)
            if self._left <= 0:
                self._code.damage = f"more than {MAX_HEADERS} headers"
                return
            place = stop
            if place - behind > _RELEASE_AFTER:
                behind = self._release_pages(behind, place)

    def _release_pages(self, behind: int, place: int) -> int:
        start = behind & -mmap.PAGESIZE
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED, start, (place - start) & -mmap.PAGESIZE)
        return place

    def _next(self, place: int, end: int) -> int:
        """Where the next fat binary begins after padding; 0 if there is none."""
        limit = min(end, place + _MAX_PADDING)
        found = self._mapped.find(_MAGIC_BYTES, place, limit)
        between = self._mapped[place : found if found >= 0 else limit]
        if between.strip(b"\0"):
            self._code.damage = "unknown data between the fat binaries"
        elif found < 0 and (limit < end or not self._code.fatbins):
            self._code.damage = "zeros in place of fat binaries"
        return max(found, 0)

    def _entries(self, place: int, stop: int) -> None:
        mapped, unpack, seen = self._mapped, _ENTRY.unpack_from, self._seen
        while place + _ENTRY_SIZE <= stop and self._left > 0:
            self._left -= 1
            kind, _, size, payload, number, flags = unpack(mapped, place)
            key = (kind, number, flags & (_SPECIFIC | _FAMILY))
            seen[key] = seen.get(key, 0) + 1
            place += size + payload
            if size < _ENTRY_SIZE or place > stop:
                self._code.damage = "an entry's header claims more than its fat binary holds"
                return

    def name_architectures(self) -> None:
        """Name what was seen in numeric order: sm_90 before sm_100."""
        kinds: dict[int, list[str]] = {_SASS: [], _PTX: []}
        few = []
        most = max(self._seen.values(), default=0)
        for (kind, number, flags), count in sorted(self._seen.items()):
            if kind in kinds and 10 <= number < 1000:
                suffix = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
                name = f"{'sm' if kind == _SASS else 'compute'}_{number}{suffix}"
                kinds[kind].append(name)
                if count * _RARE_SHARE < most:
                    few.append(name)
        self._code.sass, self._code.ptx, self._code.few = tuple(kinds[_SASS]), tuple(kinds[_PTX]), tuple(few)
