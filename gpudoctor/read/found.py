"""Finds in one pass what the lines of a text state, point to or only seem to say."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gpudoctor.line_forms import LineForms
from gpudoctor.read.readers import READERS
from gpudoctor.read.statements import Line
from gpudoctor.read.variants import Variant, variants
from gpudoctor.signatures.hints import HINTS
from gpudoctor.signatures.noise import HARMLESS
from gpudoctor.signatures.phrases import meant
from gpudoctor.signatures.table import SIGNATURES

FORMS: Final = tuple((reader.name, form) for reader in READERS for form in reader.forms)
STATED, FAULT, HINT, NOISE = range(4)
_TABLES: Final = (
    tuple(form.pattern for _, form in FORMS),
    tuple(one.pattern for one in SIGNATURES),
    tuple(one.pattern for one in HINTS),
    tuple(pattern for pattern, _ in HARMLESS),
)
_PLACES: Final = tuple((table, place) for table, patterns in enumerate(_TABLES) for place in range(len(patterns)))
_SAID: Final = {(FAULT, place) for place, one in enumerate(SIGNATURES) if one.said} | {
    (HINT, place) for place, one in enumerate(HINTS) if one.said
}
_ENOUGH: Final = 40_000
"""Lines that are read together. What people mail is shorter, and joining the lines of a larger log would take seconds."""


class Hit(NamedTuple):
    """A pattern that matches a line."""

    line: Line
    """With the text that matched: the line's own, or another way to read it."""
    table: int
    """STATED, FAULT, HINT or NOISE."""
    place: int
    """The pattern's place in its table."""
    match: re.Match[str]


def hits_in(lines: Sequence[Line]) -> list[Hit]:
    """Return every hit, by line and pattern. A sign of a fault on a line that was wrapped comes with the whole message too."""
    forms = _forms()
    touched = forms.touched([line.text for line in lines]) if len(lines) <= _ENOUGH else None
    parts = (lines[begin : begin + _ENOUGH] for begin in range(0, len(lines), _ENOUGH))
    return [hit for part in parts for hit in _hits(forms, list(variants(part, touched)))]


@functools.cache
def _forms() -> LineForms:
    return LineForms([pattern for patterns in _TABLES for pattern in patterns])


def _hits(forms: LineForms, every: Sequence[Variant]) -> Iterator[Hit]:
    whole: dict[int, list[str]] = {}
    for one in every:
        if one.seam:
            whole.setdefault(one.line.number, []).append(one.text)
    plain: set[tuple[int, int]] = set()
    for number, place, first in forms.among([one.text for one in every]):
        one = every[number]
        table, row = _PLACES[place]
        said = (table, row) in _SAID
        if one.is_translated and not said:
            continue
        match = first if table == NOISE else meant(first, said=said)
        if match is None or (one.is_other and not _is_new(one, match, table, plain)):
            continue
        yield Hit(Line(one.line.number, one.text, joined=one.seam > 0, file=one.line.file), table, row, match)
        if not one.is_other:
            plain.add((one.line.number, table))
            for message in whole.get(one.line.number, ()) if table == FAULT else ():
                yield Hit(Line(one.line.number, message, joined=True, file=one.line.file), table, row, match)


def _is_new(one: Variant, match: re.Match[str], table: int, plain: set[tuple[int, int]]) -> bool:
    """Return whether a match in another way to read a line says more than the line as it is."""
    return match.start() < one.seam < match.end() if one.seam else table == STATED or (one.line.number, table) not in plain


def lines_with(hits: Sequence[Hit], table: int) -> Iterator[Line]:
    """Yield each line with a hit in a table, once."""
    yield from dict.fromkeys(hit.line for hit in hits if hit.table == table)
