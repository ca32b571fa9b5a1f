"""Reads a command line that consists of whole option words and files, without Typer: loading Typer takes a third of a check's time.

Everything else is left to Typer: help, short options, abbreviations, and every error: there is one way to say it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from gpudoctor.cli.settings import GivenOptions
from gpudoctor.typed_values import convert_value

_CONFIG_OPTION = "config"
_OPTION_DEFAULTS = {**dict(zip(GivenOptions.__struct_encode_fields__, GivenOptions.__struct_defaults__, strict=True)), _CONFIG_OPTION: None}
"""Of each option: False for a flag, () for one that may be repeated, None for one with a value."""
CHECK_OPTIONS = frozenset(_OPTION_DEFAULTS)
DIAGNOSE_OPTIONS = frozenset(
    {"format", "output", "json", "junit", "markdown", "sarif", "only", "skip", "fail-on", "compat", "verbose", "quiet", "no-color"}
)
"""The options of each command."""


class PlainArguments(msgspec.Struct, frozen=True):
    """What a command line gives."""

    options: GivenOptions
    config: str | None = None
    """The configuration file."""
    files: tuple[str, ...] = ()


def check_arguments(words: Sequence[str]) -> PlainArguments | None:
    """Return what the words after `check` give; None if Typer has to parse them."""
    given = _parsed_arguments(words, CHECK_OPTIONS)
    if given is None or given.files:
        return None
    python = given.options.python or os.environ.get("GPUDOCTOR_PYTHON") or None
    return msgspec.structs.replace(given, options=msgspec.structs.replace(given.options, python=python))


def diagnose_arguments(words: Sequence[str]) -> PlainArguments | None:
    """Return what the words after `diagnose` give; None if Typer has to parse them."""
    given = _parsed_arguments(words, DIAGNOSE_OPTIONS)
    return given if given and given.files else None


def _parsed_arguments(words: Sequence[str], names: Collection[str]) -> PlainArguments | None:
    values: dict[str, Any] = {}
    files: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not _is_unclear(word):
            files.append(word)
            continue
        if not word.startswith("--") or name not in names:
            return None
        if _OPTION_DEFAULTS[name] is False:
            if equals:
                return None
            values[name] = True
            continue
        value = value if equals else next(rest, "")
        if _is_unclear(value):
            return None
        values[name] = (*values.get(name, ()), value) if _OPTION_DEFAULTS[name] == () else value
    config = values.pop(_CONFIG_OPTION, None)
    try:
        return PlainArguments(convert_value(values, GivenOptions, strict=False), config, tuple(files))
    except (msgspec.ValidationError, UnicodeEncodeError):  # the second of bytes that are no text
        return None


def _is_unclear(value: str) -> bool:
    """Return whether a value may be an option, or a word that msgspec reads as None."""
    return not value or (value.startswith("-") and value != "-") or value.lower() == "null"
