"""The dynamic symbols of an ELF file: which it needs, which of some names it defines, and what its names mention."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from struct import Struct

from gpudoctor.elf.file import Elf

MAX_SYMBOLS = 200_000
"""Undefined symbols of one file; torch's largest library defines more, but is only asked for single names."""
MAX_CHAIN = 4096
"""Symbols in one bucket; a linker puts a handful there."""
_PIECE_BYTES = 1 << 20
_ENTRY = Struct("<IBBHQQ")  # Elf64_Sym: name, info, other, section, value, size
_HEADER = Struct("<IIII")
_OLD_HEADER = Struct("<II")
_WEAK = 2


class _OpenFile:
    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def at(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset) if offset >= 0 and size > 0 else b""

    def close(self) -> None:
        os.close(self._descriptor)


def undefined_symbols(path: str, elf: Elf) -> list[str]:
    """The symbols that the file at `path`, described by `elf`, needs from others, without weak ones. Raises OSError."""
    if elf.bits != 64 or not elf.little or elf.symbols <= 0:
        return []
    file = _OpenFile(path)
    try:
        table = file.at(elf.symbols, min(_undefined_count(file, elf), MAX_SYMBOLS) * _ENTRY.size)
        names = file.at(elf.strings[0], min(elf.strings[1], 64 * _PIECE_BYTES))
    finally:
        file.close()
    found = []
    for name, info, _, section, _, _ in _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size]):
        if section == 0 and name and info >> 4 != _WEAK:
            end = names.find(b"\0", name)
            if end > name:
                found.append(os.fsdecode(names[name:end]))
    return found


def _undefined_count(file: _OpenFile, elf: Elf) -> int:
    """How many symbols come before those that the GNU hash table lists, which a file defines; without such a table, all that may exist."""
    head = file.at(elf.gnu_hash, _HEADER.size) if elf.gnu_hash > 0 else b""
    if len(head) == _HEADER.size:
        return int(_HEADER.unpack(head)[1])
    old = file.at(elf.hash, _OLD_HEADER.size) if elf.hash > 0 else b""
    if len(old) == _OLD_HEADER.size:
        return int(_OLD_HEADER.unpack(old)[1])
    return max(elf.strings[0] - elf.symbols, 0) // _ENTRY.size  # every linker writes the names after the table


def can_find_symbols(elf: Elf) -> bool:
    """Whether it can be told which symbols a file defines."""
    return elf.bits == 64 and elf.little and elf.symbols > 0 and max(elf.gnu_hash, elf.hash) > 0


def defined_symbols(path: str, elf: Elf, wanted: Iterable[str]) -> set[str]:
    """Which of `wanted` the file defines, by its hash table, as the loader looks them up. Raises OSError."""
    if not can_find_symbols(elf):
        return set()
    file = _OpenFile(path)
    try:
        return {name for name in wanted if _is_defined(file, elf, os.fsencode(name))}
    finally:
        file.close()


def _is_defined(file: _OpenFile, elf: Elf, name: bytes) -> bool:
    numbers = _symbols_with_hash(file, elf.gnu_hash, _gnu_hash(name)) if elf.gnu_hash > 0 else _symbols_in_bucket(file, elf.hash, name)
    for index in numbers:
        row = file.at(elf.symbols + index * _ENTRY.size, _ENTRY.size)
        if len(row) == _ENTRY.size:
            place, _, _, section, _, _ = _ENTRY.unpack(row)
            if section and file.at(elf.strings[0] + place, len(name) + 1) == name + b"\0":
                return True
    return False


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for letter in name:
        value = (value * 33 + letter) & 0xFFFFFFFF
    return value


def _symbols_with_hash(file: _OpenFile, place: int, hashed: int) -> Iterator[int]:
    """The indices of the symbols with that hash: header, filter, buckets and chains follow one another."""
    head = file.at(place, _HEADER.size)
    buckets, first, words, shift = _HEADER.unpack(head) if len(head) == _HEADER.size else (0, 0, 0, 0)
    if not buckets or not words:
        return
    bloom = place + _HEADER.size
    word = int.from_bytes(file.at(bloom + 8 * (hashed // 64 % words), 8), "little")
    if not (word >> hashed % 64 & 1 and word >> (hashed >> shift) % 64 & 1):
        return
    table = bloom + 8 * words
    index = int.from_bytes(file.at(table + 4 * (hashed % buckets), 4), "little")
    for number in range(index, index + MAX_CHAIN) if index >= first else ():
        there = int.from_bytes(file.at(table + 4 * (buckets + number - first), 4), "little")
        if (there ^ hashed) >> 1 == 0:
            yield number
        if there & 1:
            return


def _symbols_in_bucket(file: _OpenFile, place: int, name: bytes) -> Iterator[int]:
    """The indices of the symbols in the bucket of a name: two counts, buckets and chains follow one another."""
    head = file.at(place, _OLD_HEADER.size)
    buckets = _OLD_HEADER.unpack(head)[0] if len(head) == _OLD_HEADER.size else 0
    if not buckets:
        return
    hashed = 0
    for letter in name:
        hashed = (hashed << 4) + letter
        hashed = (hashed ^ (hashed & 0xF0000000) >> 24) & 0x0FFFFFFF
    table, at = place + _OLD_HEADER.size, hashed % buckets
    for _ in range(MAX_CHAIN):
        index = int.from_bytes(file.at(table + 4 * at, 4), "little")
        if not index:
            return
        yield index
        at = buckets + index


def has_symbol_mentioning(path: str, elf: Elf, name: bytes) -> bool:
    """Whether a symbol's name in the file at `path`, described by `elf`, contains `name`; False if it cannot be read."""
    place, left = elf.strings
    try:
        file = _OpenFile(path)
    except (OSError, ValueError):
        return False
    try:
        before = b""
        while left > 0 and (piece := file.at(place, min(left, _PIECE_BYTES))):
            if name in before + piece:
                return True
            before = piece[-len(name) :]
            place, left = place + len(piece), left - len(piece)
    except OSError:
        return False
    finally:
        file.close()
    return False
