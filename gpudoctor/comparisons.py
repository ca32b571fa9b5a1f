"""Compares versions with specifiers of packaging, which takes 3 ms to import: only where a comparison is asked for."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


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
