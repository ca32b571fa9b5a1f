"""Names that are no package but surely meant one: refused with a suggestion, where a merely unknown name is an open question."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.errors import UsageError
from gpudoctor.frameworks import MISTAKEN, framework_of
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.snapshot.distributions import near

_OF_CONDA = ("pytorch-cuda", "cudatoolkit")
"""What only conda knows by this name."""
_FILES = (".txt", ".toml", ".lock", ".yml", ".yaml", ".cfg", ".ini", ".json")


def refuse(requirements: Iterable[Requirement]) -> None:
    """Raises UsageError, in one sentence, for the first name that is a mistake."""
    for one in requirements:
        written = one.text.strip()
        if one.text == written and not one.specifier and written.lower().endswith(_FILES):
            raise UsageError(f"{written!r} names a file; state what it lists, as in 'torch==2.5.1'.")
        if one.name in _OF_CONDA:
            raise UsageError(f"{written!r}: {one.name} is not a package that pip installs; state the CUDA toolkit with --system-cuda.")
        meant = MISTAKEN.get(one.name) or _mistyped(one.name)
        if meant:
            raise UsageError(f"{written!r}: the package index calls no framework {one.name}; did you mean {meant}?")


def _mistyped(name: str) -> str:
    """The framework that a name misspells by one letter; empty where it is a name of its own."""
    known = [one for one in TABLE_OF if not any(letter.isdigit() for letter in one)]
    return "" if framework_of(name) or name in known else next((one for one in known if near(name, one)), "")
