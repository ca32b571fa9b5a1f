"""What an ELF file says about itself: class, machine, soname, needs, search paths, symbol versions, sections of GPU code.

In place of pyelftools, which takes 31 ms to import and 5.2 ms for each of the 85 libraries of an environment with TensorFlow and torch:
this reader takes 0.1 ms, and a whole X-ray has half a second. Tests compare it with pyelftools and readelf.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from struct import Struct

MACHINES = {3: "i386", 21: "ppc64le", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of elf.h."""
CODE_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
"""Where nvcc puts fat binaries: linked, and still to be linked."""

_LFS_POINTER = b"version https://git-lfs"
"""How a Git LFS pointer begins, by its specification."""

# elf.h
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 4, 5, 6, 10, 14, 15, 29
_DT_GNU_HASH = 0x6FFFFEF5
_DT_FLAGS_1, _DT_VERDEF, _DT_VERNEED, _DT_VERNEEDNUM = 0x6FFFFFFB, 0x6FFFFFFC, 0x6FFFFFFE, 0x6FFFFFFF
_DF_1_NODEFLIB = 0x800
_LOADABLE_TYPES = (2, 3)  # ET_EXEC, ET_DYN

# limits for files that lie about their sizes: twenty times the largest seen
_MAX_HEADERS = 4096
_MAX_ENTRIES = 16384
_MAX_TEXT = 1 << 20
_MAX_VERSIONS = 4096


class NotElf(Exception):  # noqa: N818 -- a property of the file, not an error of ours
    """Why the loader cannot use a file; `fatal` if it then fails instead of searching on.

    `kind` is a word of the snapshot's DamageKind.
    """

    def __init__(self, reason: str, kind: str = "not-elf", *, fatal: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.fatal = fatal


class Elf:
    """The facts of one file; strings as os.fsdecode gives them."""

    __slots__ = (
        "bits",
        "gnu_hash",
        "hash",
        "identity",
        "interpreter",
        "little",
        "machine",
        "needed",
        "needed_at",
        "no_defaults",
        "path",
        "rpath",
        "runpath",
        "sections",
        "soname",
        "span",
        "strings",
        "symbols",
        "version_definitions",
        "version_needs",
        "versions",
    )  # fmt: skip

    def __init__(self, path: str, bits: int, machine: str, identity: tuple[int, int] = (0, 0)) -> None:
        self.path = path
        self.bits = bits
        self.machine = machine
        """As platform.machine() says it, or "machine 22"."""
        self.identity = identity
        """Device and inode: two paths to one file are one library."""
        self.little = True
        self.interpreter = ""
        """Of a program: its dynamic loader."""
        self.soname = ""
        self.span = 0
        """Bytes of address space that it takes."""
        self.needed: tuple[str, ...] = ()
        self.needed_at: tuple[int, ...] = ()
        """Where their names are in the string table."""
        self.rpath = ""
        """DT_RPATH; empty if there is a DT_RUNPATH, because the loader then ignores DT_RPATH."""
        self.runpath: str | None = None
        self.no_defaults = False
        """DF_1_NODEFLIB: its needs are not searched in the cache or the default folders."""
        self.versions: dict[str, tuple[str, ...]] = {}
        """The symbol versions that it needs, by library; read on demand."""
        self.strings = (0, 0)
        """Offset and size of its dynamic section's string table, which holds its symbols' names."""
        self.symbols = self.gnu_hash = self.hash = -1
        """Offsets of its dynamic symbols and their hash tables, the newer kind and the older; -1 if there is none."""
        self.version_needs = self.version_definitions = -1
        """Offsets of the symbol versions that it needs and of those that it defines; -1 if there are none."""
        self.sections: tuple[tuple[str, int, int], ...] = ()
        """Name, offset and size of the sections with GPU code; read on demand."""


def read_elf_file(path: str, *, code: bool = False, versions: bool = False) -> Elf:
    """The facts of the file at `path`. Raises OSError if it cannot be opened, NotElf if it cannot be loaded."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        return _Reader(path, descriptor).elf(code=code, versions=versions)
    finally:
        os.close(descriptor)


class _Layout:
    """The layout of structures for one class and byte order; tables come with a row's size."""

    def __init__(self, bits: int, order: str) -> None:
        wide = bits == 64
        self.header = Struct(order + ("16xHHIQQQIHHHHHH" if wide else "16xHHIIIIIHHHHHH"))
        self.program = Struct(order + ("IIQQQQQQ" if wide else "IIIIIIII"))
        self.dynamic = Struct(order + ("qQ" if wide else "iI"))
        self.section = Struct(order + ("IIQQQQ" if wide else "IIIIII"))
        self.order = order
        self.wide = wide


class _Reader:
    """One open file; reads are bounded and trust no size."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise NotElf("a folder")
        if not stat.S_ISREG(status.st_mode):
            raise NotElf("not a regular file")
        self._size = status.st_size
        self._identity = (status.st_dev, status.st_ino)

    def _at(self, offset: int, size: int) -> bytes:
        if not 0 <= offset < self._size or size <= 0:
            return b""
        try:
            return os.pread(self._descriptor, min(size, self._size - offset), offset)
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.EOVERFLOW}:
                return b""
            raise

    def _check_start(self, head: bytes) -> None:
        """Raises NotElf if the first bytes are not those of an ELF file."""
        if not head:
            raise NotElf("an empty file", "empty")
        if head.startswith(_LFS_POINTER):
            raise NotElf("a Git LFS pointer in place of the file itself", "lfs-pointer")
        if not any(head):
            raise NotElf("filled with zeros", "zeroed")
        if len(head) < 52:
            begins = head[:4] == b"\x7fELF"[: len(head)]
            raise NotElf("truncated", "truncated") if begins else NotElf("not an ELF file")
        if head[:4] != b"\x7fELF":
            raise NotElf("not an ELF file")

    def elf(self, *, code: bool, versions: bool) -> Elf:
        head = self._at(0, 64)
        self._check_start(head)
        if head[4] not in {1, 2} or head[5] not in {1, 2}:
            raise NotElf("an ELF file of unknown class or byte order", fatal=head[4] in {1, 2})
        layout = _Layout(32 * head[4], "<" if head[5] == 1 else ">")
        if len(head) < layout.header.size:
            raise NotElf("truncated", "truncated")
        kind, machine, _, _, programs, sections, _, _, size, count, row, rows, names = layout.header.unpack_from(head)
        if programs + size * count > self._size:
            raise NotElf("truncated", "truncated")
        found = Elf(self._path, 32 * head[4], MACHINES.get(machine, f"machine {machine}"), self._identity)
        found.little = head[5] == 1
        if kind not in _LOADABLE_TYPES:
            raise NotElf("an object file" if kind == 1 else f"an ELF file of type {kind}")
        self._dynamic(found, layout, (programs, size, count), versions=versions)
        if code:
            found.sections = tuple(self._sections(layout, sections, row, rows, names))
        return found

    def _rows(self, shape: Struct, offset: int, size: int, count: int) -> Iterator[tuple[int, ...]]:
        """Up to `count` rows of `size` bytes of a table, without those beyond the end of the file."""
        if size < shape.size:
            return
        data = self._at(offset, size * min(count, _MAX_HEADERS))
        for place in range(0, len(data) - shape.size + 1, size):
            yield shape.unpack_from(data, place)

    def _dynamic(self, found: Elf, layout: _Layout, table: tuple[int, int, int], *, versions: bool) -> None:
        """Read the dynamic section through the segments, as the loader does: a file may lack section headers."""
        loads, offset, size = self._segments(found, layout, table)
        tags: dict[int, int] = {}
        needed = []
        data = self._at(offset, min(size, _MAX_ENTRIES * layout.dynamic.size))
        for place in range(0, len(data) - layout.dynamic.size + 1, layout.dynamic.size):
            tag, value = layout.dynamic.unpack_from(data, place)
            if tag == 0:
                break
            if tag == _DT_NEEDED:
                needed.append(value)
            tags[tag] = value
        found.no_defaults = bool(tags.get(_DT_FLAGS_1, 0) & _DF_1_NODEFLIB)
        strings = _file_offset(loads, tags.get(_DT_STRTAB, 0))
        if strings < 0:
            return
        found.strings = (strings, max(0, min(tags.get(_DT_STRSZ, 0), self._size - strings)))
        found.symbols = _file_offset(loads, tags.get(_DT_SYMTAB, 0)) if _DT_SYMTAB in tags else -1
        found.gnu_hash = _file_offset(loads, tags[_DT_GNU_HASH]) if _DT_GNU_HASH in tags else -1
        found.hash = _file_offset(loads, tags[_DT_HASH]) if _DT_HASH in tags else -1
        found.version_needs = _file_offset(loads, tags[_DT_VERNEED]) if _DT_VERNEED in tags else -1
        found.version_definitions = _file_offset(loads, tags[_DT_VERDEF]) if _DT_VERDEF in tags else -1
        found.needed = tuple(self._text(strings + name) for name in needed)
        found.needed_at = tuple(needed)
        found.soname = self._text(strings + tags[_DT_SONAME]) if _DT_SONAME in tags else ""
        if _DT_RUNPATH in tags:
            found.runpath = self._text(strings + tags[_DT_RUNPATH])
        elif _DT_RPATH in tags:
            found.rpath = self._text(strings + tags[_DT_RPATH])
        if versions and _DT_VERNEED in tags:
            place = _file_offset(loads, tags[_DT_VERNEED])
            found.versions = self._versions(layout.order, place, strings, min(tags.get(_DT_VERNEEDNUM, 0), _MAX_VERSIONS))

    def _segments(self, found: Elf, layout: _Layout, table: tuple[int, int, int]) -> tuple[list[tuple[int, int, int]], int, int]:
        """Address, offset and size of the loaded segments; offset and size of the dynamic section."""
        loads, dynamic, ends = [], (0, 0), [0]
        for row in self._rows(layout.program, *table):
            if layout.wide:
                kind, _, offset, address, _, size, memory, _ = row
            else:
                kind, offset, address, _, size, memory, _, _ = row
            if kind == _PT_LOAD:
                if offset + size > self._size:  # the loader maps it anyway, and the process dies at the first access
                    raise NotElf("truncated", "truncated")
                loads.append((address, offset, size))
                ends.append(address + memory)
            elif kind == _PT_DYNAMIC:
                dynamic = (offset, size)
            elif kind == _PT_INTERP:
                found.interpreter = os.fsdecode(self._at(offset, min(size, 4096)).partition(b"\0")[0])
        found.span = max(ends) - min((address for address, _, _ in loads), default=0)
        return loads, *dynamic

    def _text(self, offset: int) -> str:
        """The string at `offset`: usually short, thirty thousand bytes for TensorFlow's RUNPATH."""
        size = 256
        while True:
            data = self._at(offset, size)
            end = data.find(b"\0")
            if end >= 0:
                return os.fsdecode(data[:end])
            if len(data) < size or size >= _MAX_TEXT:
                return ""  # no end: the loader would crash on it
            size *= 16

    def _versions(self, order: str, place: int, strings: int, count: int) -> dict[str, tuple[str, ...]]:
        """Read Elfw(Verneed) and Elfw(Vernaux), the same in both classes; each holds the offset of the next."""
        need, aux = Struct(order + "HHIII"), Struct(order + "IHHII")
        found: dict[str, tuple[str, ...]] = {}
        left = _MAX_VERSIONS
        for _ in range(count):
            data = self._at(place, need.size)
            if len(data) < need.size:
                break
            _, entries, file, first, following = need.unpack(data)
            names, inner = [], place + first
            for _ in range(min(entries, left)):
                row = self._at(inner, aux.size)
                if len(row) < aux.size:
                    break
                _, _, _, name, after = aux.unpack(row)
                names.append(self._text(strings + name))
                left -= 1
                if not after:
                    break
                inner += after
            found[self._text(strings + file)] = tuple(names)
            if not following or not left:
                break
            place += following
        return found

    def _sections(self, layout: _Layout, offset: int, size: int, count: int, names: int) -> Iterator[tuple[str, int, int]]:
        rows = list(self._rows(layout.section, offset, size, count))
        if names >= len(rows):
            return
        texts = self._at(rows[names][4], min(rows[names][5], _MAX_TEXT))
        for name, _, _, _, place, length in rows:
            text = texts[name : name + 32].partition(b"\0")[0].decode("ascii", "replace")
            if text in CODE_SECTIONS and place < self._size:
                yield text, place, min(length, self._size - place)


def _file_offset(loads: list[tuple[int, int, int]], address: int) -> int:
    """The file offset of a virtual address; -1 if it is in none of the segments."""
    for start, offset, size in loads:
        if start <= address < start + size:
            return address - start + offset
    return -1
