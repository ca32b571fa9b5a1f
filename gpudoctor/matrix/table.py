"""The format of a CSV table: its columns, the conversion of cells to values and back, and the order of rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from gpudoctor import versions

Row = TypeVar("Row")


_BEFORE_THE_RELEASE = -(10**9)
"""Where the numbers of development releases begin: they sort before the release itself, and are as large as a date."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of cell: `parse` raises ValueError with the problem as a clause; `dump(parse(cell)) == cell` for every cell it accepts.

    The slowest and most frequent ones cache their results: a table repeats the same few versions, platforms and sources.
    """

    parse: Callable[[str], Any]
    dump: Callable[[Any], str]


class Table(msgspec.Struct, Generic[Row], frozen=True):
    """A table: `name`.csv has one row a line, sorted by the unique `key`. The columns are the fields of `row`, in order."""

    name: str
    row: Callable[..., Row]
    columns: dict[str, Kind]
    key: Callable[[Row], Any]

    def parse(self, cells: list[str]) -> Row:
        """The row of one line. Raises ValueError that names the wrong column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"has {len(cells)} cells where the header names {len(self.columns)}")
        try:
            return self.row(*[kind.parse(cell) for kind, cell in zip(self.columns.values(), cells, strict=True)])
        except ValueError:
            self._blame(cells)
            raise

    def _blame(self, cells: list[str]) -> None:
        """Raise for the wrong column; normal parsing skips this, because nearly all rows are right."""
        column = ""
        try:
            for column, cell in zip(self.columns, cells, strict=True):
                self.columns[column].parse(cell)
        except ValueError as problem:
            raise ValueError(f"column {column} {problem}") from None

    def dump(self, row: Row) -> list[str]:
        """The cells of a row."""
        return [kind.dump(getattr(row, column)) for column, kind in self.columns.items()]


@cache
def _text(cell: str) -> str:
    if cell != cell.strip():
        raise ValueError("begins or ends with a space")
    return cell


@cache
def _required(cell: str) -> str:
    if not cell:
        raise ValueError("is empty")
    return _text(cell)


@cache
def _words(cell: str) -> tuple[str, ...]:
    words = tuple(cell.split())
    if " ".join(words) != cell:
        raise ValueError("separates its values by more than one space")
    return words


@cache
def _sources(cell: str) -> tuple[str, ...]:
    return _words(_required(cell))


@cache
def _version(cell: str) -> versions.Version:
    found = versions.parse(cell)
    if found is None or not cell.isascii() or not cell.replace(".", "").isdigit() or cell.count(".") > 3 or cell.endswith("."):
        raise ValueError(f"is {cell!r}, not a dotted version")
    return found


@cache
def _release(cell: str) -> versions.Version:
    for word, first in ((".post", 0), (".dev", _BEFORE_THE_RELEASE)):
        public, found, number = cell.partition(word)
        if found:
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                raise ValueError(f"is {cell!r}, not a release")
            return _version(public)._replace(build=first + int(number), text=cell)
    return _version(cell)


@cache
def _names(cell: str) -> tuple[str, ...]:
    return () if cell == "none" else _words(_required(cell))


@cache
def _number(cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 20) or str(int(cell)) != cell:
        raise ValueError(f"is {cell[:40]!r}, not a whole number")
    return int(cell)


def _pci_id(cell: str) -> int:
    if len(cell) != 4 or any(letter not in "0123456789abcdef" for letter in cell):
        raise ValueError(f"is {cell!r}, not four hexadecimal digits")
    return int(cell, 16)


@cache
def _decimal(cell: str) -> float:
    if not cell.isascii() or not cell.replace(".", "", 1).isdigit():
        raise ValueError(f"is {cell!r}, not a number")
    size = float(cell)
    if f"{size:g}" != cell:
        raise ValueError(f"is {cell!r}; write {size:g}")
    return size


def _date(cell: str) -> str:
    try:
        day = dt.date.fromisoformat(cell).isoformat()
    except ValueError:
        day = ""
    if not day or day != cell:
        raise ValueError(f"is {cell!r}, not a date like 2026-01-31")
    return cell


def _month(cell: str) -> str:
    try:
        return _date(f"{cell}-01")[:-3]
    except ValueError:
        raise ValueError(f"is {cell!r}, not a month like 2026-01") from None


def _versions(cell: str) -> tuple[str, ...]:
    words = () if cell == "none" else _words(_required(cell))
    for word in words:
        _version(word)
    return words


@cache
def _architectures(cell: str) -> tuple[str, ...]:
    words = () if cell == "none" else _words(_required(cell))
    for word in words:
        prefix, _, digits = word.partition("_")
        if prefix not in {"sm", "compute"} or not digits.rstrip("af").isdigit():
            raise ValueError(f"contains {word!r}, not an architecture like sm_80 or compute_90")
    return words


def _one_of(*allowed: str) -> Kind:
    @cache
    def parse(cell: str) -> str:
        if cell not in allowed:
            raise ValueError(f"is {cell!r}, not one of {', '.join(allowed)}")
        return cell

    return Kind(parse, str)


def optional(kind: Kind) -> Kind:
    """A cell that may be blank, which means unknown: None."""
    return Kind(cache(lambda cell: kind.parse(cell) if cell else None), lambda value: "" if value is None else kind.dump(value))


TEXT = Kind(_text, str)
REQUIRED = Kind(_required, str)
WORDS = Kind(_words, " ".join)
SOURCES = Kind(_sources, " ".join)
VERSION = Kind(_version, str)
RELEASE = Kind(_release, str)
NUMBER = Kind(_number, str)
PCI_ID = Kind(_pci_id, lambda number: f"{number:04x}")
DECIMAL = Kind(_decimal, lambda size: f"{size:g}")
DATE = Kind(_date, str)
MONTH = Kind(_month, str)
VERSIONS = Kind(_versions, lambda words: " ".join(words) or "none")
NAMES = Kind(_names, lambda words: " ".join(words) or "none")
ARCHITECTURES = Kind(_architectures, lambda words: " ".join(words) or "none")
PLATFORM = _one_of("linux_x86_64", "linux_aarch64", "win_amd64", "win_arm64", "macos_arm64", "macos_x86_64", "any")
ACCELERATOR = _one_of("cuda", "cpu", "directml", "metal", "none", "opencl", "sdist", "stub")
FAULT = _one_of("broken", "ptx-refused", "unpublished")
BOUND = _one_of(
    "adapts-ptx",
    "any-framework",
    "carries-assembler",
    "compares-plugins",
    "compiles-kernels",
    "compiles-unasked",
    "may-carry-assembler",
    "nearest-cuda",
    "no-cuda-on-windows",
    "oldest-assembler",
    "oldest-capability",
    "opens-cuda",
    "second-assembler",
)
BRANCH_KIND = _one_of("production", "long-term", "new-feature")
ORIGIN = _one_of("distribution", "nvidia")
CODE = _one_of("pure", "compiled")
"""How a package without GPU code is built."""
MODULES = _one_of("proprietary", "open")
GPU_KIND = _one_of("data-center", "workstation", "geforce", "laptop", "jetson")
