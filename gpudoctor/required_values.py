"""Reads the values of `--require`: version specifiers and runs. Imported only where something is required, since packaging and `fit` take 15 ms."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpudoctor.run_spelling import run_of_words as parse_run

__all__ = ["allows", "parse_run", "understood"]


def understood(specifier: str) -> bool:
    """Whether it is a valid specifier; arbitrary equality, which compares texts, is not."""
    try:
        return "===" not in specifier and SpecifierSet(specifier) is not None
    except InvalidSpecifier:
        return False


def allows(specifier: str, value: str) -> bool | None:
    """Whether the specifier allows the version `value`, pre-releases included; None if it is not a version."""
    try:
        version = Version(value)
    except InvalidVersion:
        return None
    return SpecifierSet(specifier).contains(version, prereleases=True)
