"""The kinds of cells in the tables: how each is parsed and written. A field of a row names its kind by its type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from gpudoctor.versions import Version, parse_version

Text = str
Required = str
Date = str
Month = str
Platform = str
Accelerator = str
FaultName = str
BoundName = str
BranchKind = str
Origin = str
CodeKind = str
Flavour = str
GpuKind = str
Words = tuple[str, ...]
Sources = tuple[str, ...]
Names = tuple[str, ...]
Versions = tuple[str, ...]
Architectures = tuple[str, ...]
Number = int
PciId = int
Decimal = float
Release = Version

_DEVELOPMENT_BASE = -(10**9)
"""Where the numbers of development releases begin: they sort before the release itself, and are as large as a date."""


class CellKind(msgspec.Struct, frozen=True):
    """A kind of cell: `parse_version` raises ValueError with the problem as a clause; `dump(parse(cell)) == cell` for every cell it accepts.

    The slowest and most frequent ones cache their results: a table repeats the same few versions, platforms and sources.
    """

    parse: Callable[[str], Any]
    dump: Callable[[Any], str]


@cache
def _parse_text(cell: str) -> str:
    if cell != cell.strip():
        raise ValueError("begins or ends with a space")
    return cell


@cache
def _parse_required(cell: str) -> str:
    if not cell:
        raise ValueError("is empty")
    return _parse_text(cell)


@cache
def _parse_words(cell: str) -> tuple[str, ...]:
    words = tuple(cell.split())
    if " ".join(words) != cell:
        raise ValueError("separates its values by more than one space")
    return words


@cache
def _parse_sources(cell: str) -> tuple[str, ...]:
    return _parse_words(_parse_required(cell))


@cache
def _parse_version(cell: str) -> Version:
    found = parse_version(cell)
    if found is None or not cell.isascii() or not cell.replace(".", "").isdigit() or cell.count(".") > 3 or cell.endswith("."):
        raise ValueError(f"is {cell!r}, not a dotted version")
    return found


@cache
def _parse_release(cell: str) -> Version:
    for word, first in ((".post", 0), (".dev", _DEVELOPMENT_BASE)):
        public, found, number = cell.partition(word)
        if found:
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                raise ValueError(f"is {cell!r}, not a release")
            return _parse_version(public)._replace(build=first + int(number), text=cell)
    return _parse_version(cell)


@cache
def _parse_names(cell: str) -> tuple[str, ...]:
    return () if cell == "none" else _parse_words(_parse_required(cell))


@cache
def _parse_number(cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 20) or str(int(cell)) != cell:
        raise ValueError(f"is {cell[:40]!r}, not a whole number")
    return int(cell)


def _parse_pci_id(cell: str) -> int:
    if len(cell) != 4 or any(letter not in "0123456789abcdef" for letter in cell):
        raise ValueError(f"is {cell!r}, not four hexadecimal digits")
    return int(cell, 16)


@cache
def _parse_decimal(cell: str) -> float:
    if not cell.isascii() or not cell.replace(".", "", 1).isdigit():
        raise ValueError(f"is {cell!r}, not a number")
    size = float(cell)
    if f"{size:g}" != cell:
        raise ValueError(f"is {cell!r}; write {size:g}")
    return size


def _parse_date(cell: str) -> str:
    try:
        day = dt.date.fromisoformat(cell).isoformat()
    except ValueError:
        day = ""
    if not day or day != cell:
        raise ValueError(f"is {cell!r}, not a date like 2026-01-31")
    return cell


def _parse_month(cell: str) -> str:
    try:
        return _parse_date(f"{cell}-01")[:-3]
    except ValueError:
        raise ValueError(f"is {cell!r}, not a month like 2026-01") from None


def _parse_versions(cell: str) -> tuple[str, ...]:
    words = _parse_names(cell)
    for word in words:
        _parse_version(word)
    return words


@cache
def _parse_architectures(cell: str) -> tuple[str, ...]:
    words = _parse_names(cell)
    for word in words:
        prefix, _, digits = word.partition("_")
        if prefix not in {"sm", "compute"} or not digits.rstrip("af").isdigit():
            raise ValueError(f"contains {word!r}, not an architecture like sm_80 or compute_90")
    return words


def _choice_kind(*allowed: str) -> CellKind:
    @cache
    def parse(cell: str) -> str:
        if cell not in allowed:
            raise ValueError(f"is {cell!r}, not one of {', '.join(allowed)}")
        return cell

    return CellKind(parse, str)


_KINDS_BY_TYPE = {
    "Text": CellKind(_parse_text, str),
    "Required": CellKind(_parse_required, str),
    "Words": CellKind(_parse_words, " ".join),
    "Sources": CellKind(_parse_sources, " ".join),
    "Names": CellKind(_parse_names, lambda words: " ".join(words) or "none"),
    "Version": CellKind(_parse_version, str),
    "Release": CellKind(_parse_release, str),
    "Versions": CellKind(_parse_versions, lambda words: " ".join(words) or "none"),
    "Number": CellKind(_parse_number, str),
    "PciId": CellKind(_parse_pci_id, lambda number: f"{number:04x}"),
    "Decimal": CellKind(_parse_decimal, lambda size: f"{size:g}"),
    "Date": CellKind(_parse_date, str),
    "Month": CellKind(_parse_month, str),
    "Architectures": CellKind(_parse_architectures, lambda words: " ".join(words) or "none"),
    "Platform": _choice_kind("linux_x86_64", "linux_aarch64", "win_amd64", "win_arm64", "macos_arm64", "macos_x86_64", "any"),
    "Accelerator": _choice_kind("cuda", "cpu", "directml", "metal", "none", "opencl", "repository", "sdist", "stub"),
    "FaultName": _choice_kind("broken", "broken-extra", "ptx-computes-wrong", "ptx-refused", "unpublished"),
    "BoundName": _choice_kind(
        "adapts-ptx",
        "any-framework",
        "carries-assembler",
        "compares-extras",
        "compares-plugins",
        "compiles-kernels",
        "compiles-unasked",
        "forward-compatible",
        "forward-compatible-cuda",
        "may-carry-assembler",
        "nearest-cuda",
        "no-cuda-on-windows",
        "oldest-assembler",
        "oldest-capability",
        "opens-cuda",
        "other-cuda-minor",
        "second-assembler",
    ),
    "BranchKind": _choice_kind("production", "long-term", "new-feature"),
    "Origin": _choice_kind("distribution", "nvidia"),
    "CodeKind": _choice_kind("pure", "compiled"),
    "Flavour": _choice_kind("proprietary", "open"),
    "GpuKind": _choice_kind("data-center", "workstation", "geforce", "laptop", "jetson"),
}
"""By the name of the type."""


@cache
def kind_of(annotation: str) -> CellKind:
    """Return the kind of a field's cells: "Version", or "Version | None" where the cell may be blank, which means unknown."""
    kind = _KINDS_BY_TYPE[annotation.removesuffix(" | None")]
    if not annotation.endswith(" | None"):
        return kind
    return CellKind(cache(lambda cell: kind.parse(cell) if cell else None), lambda value: "" if value is None else kind.dump(value))
