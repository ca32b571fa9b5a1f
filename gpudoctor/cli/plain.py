"""Reads a command line of `check` that consists of whole option words, without Typer: loading Typer takes a third of a check's time.

Everything else is left to Typer: help, short options, abbreviations, and every error: there is one way to say it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from gpudoctor.cli.settings import GivenOptions

_CONFIG = "config"
_DEFAULTS = {**dict(zip(GivenOptions.__struct_encode_fields__, GivenOptions.__struct_defaults__, strict=True)), _CONFIG: None}
"""Of each option: False for a flag, () for one that may be repeated, None for one with a value."""


def plain(words: Sequence[str]) -> tuple[GivenOptions, str | None] | None:
    """Return the options that the words after `check` give, and the configuration file; None if Typer has to parse them."""
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in _DEFAULTS:
            return None
        if _DEFAULTS[name] is False:
            if equals:
                return None
            values[name] = True
            continue
        value = value if equals else next(rest, "")
        if _is_unclear(value):
            return None
        values[name] = (*values.get(name, ()), value) if _DEFAULTS[name] == () else value
    values.setdefault("python", os.environ.get("GPUDOCTOR_PYTHON") or None)
    config = values.pop(_CONFIG, None)
    try:
        return msgspec.convert(values, GivenOptions, strict=False), config
    except msgspec.ValidationError:
        return None


def _is_unclear(value: str) -> bool:
    """Return whether a value may be an option, or a word that msgspec reads as None."""
    return not value or (value.startswith("-") and value != "-") or value.lower() == "null"
