"""Misspelt package names: refused with a suggestion. A name that is merely unknown is reported as not checked."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.errors import UsageError
from gpudoctor.frameworks import MISTAKEN, framework_of
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.snapshot.distributions import is_typo_of

_CONDA_PACKAGES = ("pytorch-cuda", "cudatoolkit")
"""Names that only conda knows."""
_FILE_ENDINGS = (".txt", ".toml", ".lock", ".yml", ".yaml", ".cfg", ".ini", ".json")


def refuse_misspelt(requirements: Iterable[Requirement]) -> None:
    """Raise UsageError for the first name that is a mistake."""
    for requirement in requirements:
        written = requirement.text.strip()
        if requirement.text == written and not requirement.specifier and written.lower().endswith(_FILE_ENDINGS):
            raise UsageError(f"{written!r} is a file name; state what it lists: 'torch==2.5.1'.")
        if requirement.name in _CONDA_PACKAGES:
            raise UsageError(f"{written!r}: pip has no package {requirement.name}; state the CUDA toolkit with --system-cuda.")
        meant = MISTAKEN.get(requirement.name) or _misspelt_framework(requirement.name)
        if meant:
            raise UsageError(f"{written!r}: no framework is called {requirement.name} on the package index; did you mean {meant}?")


def _misspelt_framework(name: str) -> str:
    """The framework that a name misspells by one letter; empty if none."""
    known = [one for one in TABLE_OF if not any(letter.isdigit() for letter in one)]
    return "" if framework_of(name) or name in known else next((one for one in known if is_typo_of(name, one)), "")
