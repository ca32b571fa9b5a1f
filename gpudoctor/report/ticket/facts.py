"""Everything that was observed, as names and values: a section of the snapshot each."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from gpudoctor.snapshot import Cause, Fact, Missing, Parameter, Snapshot, is_unasked

_FILE_FIELDS = {"version", "created", "origin", "remarks"}
"""Fields of a snapshot that are no observation."""
_OMITTED_CAUSES = {Cause.ABSENT, Cause.UNSUPPORTED}
"""Of a single value; that a whole section is absent is worth a line."""
_MAX_LINE = 300
"""Letters of a value that are shown; the JSON report has all."""


class FactSection(NamedTuple):
    """A section of the snapshot."""

    name: str
    facts: tuple[tuple[str, str], ...]


def fact_sections(snapshot: Snapshot) -> list[FactSection]:
    """Return the sections that were looked at; one without a value has its reason as the only fact."""
    named = ((name, getattr(snapshot, name)) for name in Snapshot.__struct_fields__ if name not in _FILE_FIELDS)
    every = (FactSection(name.replace("_", " "), tuple(_flat_facts("", value))) for name, value in named)
    return [section for section in every if section.facts]


def _flat_facts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every value within `value` with its path."""
    if isinstance(value, Missing):
        if not is_unasked(value) and not (name and value.cause in _OMITTED_CAUSES):
            yield name, f"{value.cause}: {value.reason}"
    elif isinstance(value, Fact):
        yield name, f"{_shortened_value(value.value)} [{value.where}]"
    elif isinstance(value, Parameter):
        yield f"{name} {value.name}".strip(), _shortened_value(value.value)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from _flat_facts(f"{name}.{field}" if name else field, getattr(value, field))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _flat_facts(f"{name}.{key}" if name else str(key), one)
    elif isinstance(value, tuple):
        yield from _facts_of_sequence(name, value)
    else:
        yield name, _shortened_value(value)


def _facts_of_sequence(name: str, values: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    if all(isinstance(one, str | int | float) for one in values):
        yield name, _shortened_value(", ".join(map(_value_word, values)) or "none")
        return
    for number, one in enumerate(values):
        yield from _flat_facts(f"{name}[{number}]" if name else f"[{number}]", one)


def _value_word(value: Any) -> str:
    return str(value.value if isinstance(value, enum.Enum) else value)


def _shortened_value(value: Any) -> str:
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else _value_word(value)
    return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]}…"
