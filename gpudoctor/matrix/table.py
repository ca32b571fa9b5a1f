"""What a CSV table of the matrix is: its columns, how a cell becomes a value and back, and the order of its rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from gpudoctor import versions

Row = TypeVar("Row")


class Kind(msgspec.Struct, frozen=True):
    """A kind of cell: `parse` raises ValueError with the problem as a clause; `dump(parse(cell)) == cell` for every cell it accepts."""

    parse: Callable[[str], Any]
    dump: Callable[[Any], str]


class Table(msgspec.Struct, Generic[Row], frozen=True):
    """A table: `name`.csv holds one row a line, sorted by `key`, which is unique. The columns are the fields of `row`, in order."""

    name: str
    row: Callable[..., Row]
    columns: dict[str, Kind]
    key: Callable[[Row], Any]

    def parse(self, cells: list[str]) -> Row:
        """The row of one line; ValueError says which column is wrong and how."""
        if len(cells) != len(self.columns):
            raise ValueError(f"has {len(cells)} cells where the header names {len(self.columns)}")
        values, column = {}, ""
        try:
            for (column, kind), cell in zip(self.columns.items(), cells, strict=True):
                values[column] = kind.parse(cell)
        except ValueError as problem:
            raise ValueError(f"column {column} {problem}") from None
        return self.row(**values)

    def dump(self, row: Row) -> list[str]:
        """The cells of a row."""
        return [kind.dump(getattr(row, column)) for column, kind in self.columns.items()]


def _text(cell: str) -> str:
    if cell != cell.strip():
        raise ValueError("begins or ends with a space")
    return cell


def _required(cell: str) -> str:
    if not cell:
        raise ValueError("is empty")
    return _text(cell)


def _words(cell: str) -> tuple[str, ...]:
    words = tuple(cell.split())
    if " ".join(words) != cell:
        raise ValueError("separates its values by more than one space")
    return words


def _sources(cell: str) -> tuple[str, ...]:
    return _words(_required(cell))


def _version(cell: str) -> versions.Version:
    found = versions.parse(cell)
    if found is None or not cell.isascii() or not cell.replace(".", "").isdigit() or cell.count(".") > 3 or cell.endswith("."):
        raise ValueError(f"is {cell!r} where a dotted version is wanted")
    return found


def _release(cell: str) -> versions.Version:
    public, _, post = cell.partition(".post")
    found = _version(public)
    if "post" in cell and not (post.isascii() and post.isdigit()):
        raise ValueError(f"is {cell!r} where a release is wanted")
    return found._replace(build=int(post or 0), text=cell)


def _number(cell: str) -> int:
    if not (cell.isascii() and cell.isdigit()) or str(int(cell)) != cell:
        raise ValueError(f"is {cell!r} where a whole number is wanted")
    return int(cell)


def _pci_id(cell: str) -> int:
    if len(cell) != 4 or any(letter not in "0123456789abcdef" for letter in cell):
        raise ValueError(f"is {cell!r} where four hexadecimal digits are wanted")
    return int(cell, 16)


def _gib(cell: str) -> float:
    if not cell.isascii() or not cell.replace(".", "", 1).isdigit():
        raise ValueError(f"is {cell!r} where a number is wanted")
    size = float(cell)
    if f"{size:g}" != cell:
        raise ValueError(f"is {cell!r} where {size:g} is meant")
    return size


def _date(cell: str) -> str:
    try:
        day = dt.date.fromisoformat(cell).isoformat()
    except ValueError:
        day = ""
    if not day or day != cell:
        raise ValueError(f"is {cell!r} where a date as 2026-01-31 is wanted")
    return cell


def _architectures(cell: str) -> tuple[str, ...]:
    words = () if cell == "none" else _words(_required(cell))
    for word in words:
        prefix, _, digits = word.partition("_")
        if prefix not in {"sm", "compute"} or not digits.rstrip("af").isdigit():
            raise ValueError(f"holds {word!r} where an architecture as sm_80 or compute_90 is wanted")
    return words


def _one_of(*allowed: str) -> Kind:
    def parse(cell: str) -> str:
        if cell not in allowed:
            raise ValueError(f"is {cell!r} where one of {', '.join(allowed)} is wanted")
        return cell

    return Kind(parse, str)


def optional(kind: Kind) -> Kind:
    """A cell that may be blank, which means unknown: None."""
    return Kind(lambda cell: kind.parse(cell) if cell else None, lambda value: "" if value is None else kind.dump(value))


TEXT = Kind(_text, str)
REQUIRED = Kind(_required, str)
WORDS = Kind(_words, " ".join)
SOURCES = Kind(_sources, " ".join)
VERSION = Kind(_version, str)
RELEASE = Kind(_release, str)
NUMBER = Kind(_number, str)
PCI_ID = Kind(_pci_id, lambda number: f"{number:04x}")
GIB = Kind(_gib, lambda size: f"{size:g}")
DATE = Kind(_date, str)
ARCHITECTURES = Kind(_architectures, lambda words: " ".join(words) or "none")
ACCELERATOR = _one_of("cuda", "cpu")
