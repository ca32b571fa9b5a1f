"""The environment variables that affect how a GPU is found or used."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.snapshot import printable_text
from gpudoctor.snapshot.variable_names import ONLY_SET, WHOLE

SET_MARK = "(set)"
"""Replaces a value that names machines, people or their files: only its presence matters."""
MAX_LENGTH = 8192
"""Characters of a value to keep."""


def relevant_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The listed variables that are set, by name; an empty value is kept, because it means something."""
    return {name: _shown_value(name, environ[name]) for name in sorted(environ) if name in WHOLE or name in ONLY_SET}


def _shown_value(name: str, value: str) -> str:
    if name in ONLY_SET:
        return SET_MARK if value else ""
    return printable_text(value)[:MAX_LENGTH]
