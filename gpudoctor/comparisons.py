"""Versions held against what packaging calls a specifier; importing that takes 10 ms."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def understood(specifier: str) -> bool:
    """Whether it is a specifier; arbitrary equality, which compares texts, is not."""
    try:
        return "===" not in specifier and SpecifierSet(specifier) is not None
    except InvalidSpecifier:
        return False


def allows(specifier: str, value: str) -> bool | None:
    """Whether `value` is a version that the specifier allows, a pre-release counting as what it is; None where it is no version."""
    try:
        version = Version(value)
    except InvalidVersion:
        return None
    return SpecifierSet(specifier).contains(version, prereleases=True)
