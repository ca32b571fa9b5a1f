"""The environment variables that affect how a GPU is found or used."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.snapshot import readable
from gpudoctor.snapshot.variable_names import ONLY_SET, WHOLE

SET = "(set)"
"""Replaces a value that names machines, people or their files: only its presence matters."""
LONGEST = 8192
"""Characters of a value to keep."""


def values(environ: Mapping[str, str]) -> dict[str, str]:
    """The listed variables that are set, by name; an empty value is kept, because it means something."""
    return {name: _kept(name, environ[name]) for name in sorted(environ) if name in WHOLE or name in ONLY_SET}


def _kept(name: str, value: str) -> str:
    if name in ONLY_SET:
        return SET if value else ""
    return readable(value)[:LONGEST]
