"""Reads the GPU architectures in a library from the fatbin headers in a stream of it.

A container is a header of 16 bytes (magic, version 1, header size, size of the rest) and its entries, each a header and a payload.
An entry's header has its kind (1 is PTX, 2 is machine code), both sizes, the version of the PTX language, the architecture as a number, and
flags that distinguish sm_90a and sm_100f from sm_90 and sm_100. Seen in the output of CUDA 13.0's fatbinary; no public document describes it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, Protocol

_BEGIN = b"\x50\xed\x55\xba\x01\x00\x10\x00"
_LENGTH = struct.Struct("<Q")
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
_PTX = 1
_KINDS = {_PTX: "compute", 2: "sm"}
_SUFFIXES = {0x100000: "a", 0x200000: "f"}
_CHUNK = 1 << 20


class Readable(Protocol):
    """A stream, as a member of a zip archive is."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""
        ...


class Entry(NamedTuple):
    """One entry of a container: an architecture ("sm_90a", "compute_90") and, of PTX, the version of its language ("7.8")."""

    architecture: str
    ptx_isa: str


class Code(NamedTuple):
    """Architectures with machine code ("sm_80", "sm_90a") and with PTX ("compute_90"), lowest first; () is none."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]


def read_code(library: Readable) -> Code:
    """Return the architectures in a library's containers. Raises ValueError if one is truncated or has an unknown format."""
    found = {entry.architecture for entry in _entries(_Stream(library))}
    sass, ptx = ({name for name in found if name.startswith(kind)} for kind in ("sm_", "compute_"))
    return Code(tuple(sorted(sass, key=order)), tuple(sorted(ptx, key=order)))


def read_ptx_versions(library: Readable) -> list[str]:
    """Return the versions of the PTX language in a library's containers. Raises ValueError as `read_code` does."""
    return sorted({entry.ptx_isa for entry in _entries(_Stream(library)) if entry.ptx_isa})


def order(architecture: str) -> tuple[int, str]:
    """Return the sort key that puts "sm_90" before "sm_90a" before "sm_100"."""
    digits = architecture.partition("_")[2]
    number = digits.rstrip("af")
    return int(number), digits[len(number) :]


def _entries(stream: _Stream) -> Iterator[Entry]:
    while stream.find(_BEGIN):
        stream.skip(len(_BEGIN))
        (left,) = _LENGTH.unpack(stream.take(_LENGTH.size))
        while left:
            kind, _, header, payload, minor, major, number, flags = _ENTRY.unpack(stream.take(_ENTRY.size))
            if header < _ENTRY.size or header + payload > left:
                raise ValueError("an entry of a fatbin is larger than its container")
            stream.skip(header - _ENTRY.size + payload)
            left -= header + payload
            if kind in _KINDS:
                suffix = "".join(letter for bit, letter in _SUFFIXES.items() if flags & bit)
                yield Entry(f"{_KINDS[kind]}_{number}{suffix}", f"{major}.{minor}" if kind == _PTX else "")


class _Stream:
    """A file read once, forwards."""

    def __init__(self, file: Readable) -> None:
        self._file, self._held, self._at = file, b"", 0

    def take(self, size: int) -> bytes:
        """Return the next bytes. Raises ValueError if the file ends first."""
        while len(self._held) - self._at < size:
            self._more()
        self._at += size
        return self._held[self._at - size : self._at]

    def skip(self, size: int) -> None:
        """Skip bytes. Raises ValueError if the file ends first."""
        while len(self._held) - self._at < size:
            size -= len(self._held) - self._at
            self._at = len(self._held)
            self._more()
        self._at += size

    def find(self, wanted: bytes) -> bool:
        """Skip everything before `wanted`; return False at the end of the file."""
        while (at := self._held.find(wanted, self._at)) < 0:
            self._at = max(self._at, len(self._held) - len(wanted) + 1)
            more = self._file.read(_CHUNK)
            if not more:
                return False
            self._held, self._at = self._held[self._at :] + more, 0
        self._at = at
        return True

    def _more(self) -> None:
        more = self._file.read(_CHUNK)
        if not more:
            raise ValueError("the library ends within a fatbin")
        self._held, self._at = self._held[self._at :] + more, 0
