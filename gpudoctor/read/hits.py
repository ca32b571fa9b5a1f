"""Finds in one pass what the lines of a text state, point to or only seem to say."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gpudoctor.line_forms import LineForms
from gpudoctor.read.line_variants import LineVariant, line_variants
from gpudoctor.read.readers import READERS
from gpudoctor.read.statements import Line
from gpudoctor.signatures.hints import HINTS
from gpudoctor.signatures.noise import HARMLESS
from gpudoctor.signatures.phrases import meant
from gpudoctor.signatures.table import SIGNATURES

READER_FORMS: Final = tuple((reader.name, form) for reader in READERS for form in reader.forms)
_KERNEL_FORMS: Final = tuple(reader.of_kernel for reader in READERS for _ in reader.forms)
STATED_TABLE, FAULT_TABLE, HINT_TABLE, NOISE_TABLE = range(4)
_PATTERN_TABLES: Final = (
    tuple(form.pattern for _, form in READER_FORMS),
    tuple(signature.pattern for signature in SIGNATURES),
    tuple(hint.pattern for hint in HINTS),
    tuple(pattern for pattern, _ in HARMLESS),
)
_PATTERN_PLACES: Final = tuple((table, place) for table, patterns in enumerate(_PATTERN_TABLES) for place in range(len(patterns)))
_SAID_PATTERNS: Final = {(FAULT_TABLE, place) for place, signature in enumerate(SIGNATURES) if signature.said} | {
    (HINT_TABLE, place) for place, hint in enumerate(HINTS) if hint.said
}
_LINES_AT_ONCE: Final = 40_000
"""Lines that are read together. What people mail is shorter, and joining the lines of a larger log would take seconds."""


class PatternHit(NamedTuple):
    """A pattern that matches a line."""

    line: Line
    """With the text that matched: the line's own, or another way to read it."""
    table: int
    """STATED, FAULT, HINT or NOISE."""
    place: int
    """The pattern's place in its table."""
    match: re.Match[str]


def hits_in(lines: Sequence[Line]) -> list[PatternHit]:
    """Return every hit, by line and pattern. A sign of a fault on a line that was wrapped comes with the whole message too."""
    forms = _line_forms()
    touched = forms.possible_lines([line.text for line in lines]) if len(lines) <= _LINES_AT_ONCE else None
    parts = (lines[begin : begin + _LINES_AT_ONCE] for begin in range(0, len(lines), _LINES_AT_ONCE))
    return [hit for part in parts for hit in _pattern_hits(forms, list(line_variants(part, touched)))]


@functools.cache
def _line_forms() -> LineForms:
    return LineForms([pattern for patterns in _PATTERN_TABLES for pattern in patterns])


def _pattern_hits(forms: LineForms, every: Sequence[LineVariant]) -> Iterator[PatternHit]:
    whole: dict[int, list[str]] = {}
    for variant in every:
        if variant.seam:
            whole.setdefault(variant.line.number, []).append(variant.text)
    plain: set[tuple[int, int]] = set()
    for number, place, first in forms.among([variant.text for variant in every]):
        variant = every[number]
        table, row = _PATTERN_PLACES[place]
        said = (table, row) in _SAID_PATTERNS
        if (variant.is_translated and not said) or (variant.line.by_kernel and table == STATED_TABLE and not _KERNEL_FORMS[row]):
            continue
        match = first if table == NOISE_TABLE else meant(first, said=said)
        if match is None or (variant.is_other and not _is_new_hit(variant, match, table, plain)):
            continue
        yield PatternHit(Line(variant.line.number, variant.text, joined=variant.seam > 0, file=variant.line.file), table, row, match)
        if not variant.is_other:
            plain.add((variant.line.number, table))
            for message in whole.get(variant.line.number, ()) if table == FAULT_TABLE else ():
                yield PatternHit(Line(variant.line.number, message, joined=True, file=variant.line.file), table, row, match)


def _is_new_hit(variant: LineVariant, match: re.Match[str], table: int, plain: set[tuple[int, int]]) -> bool:
    """Return whether a match in another way to read a line says more than the line as it is."""
    return (
        match.start() < variant.seam < match.end() if variant.seam else table == STATED_TABLE or (variant.line.number, table) not in plain
    )


def lines_with(hits: Sequence[PatternHit], table: int) -> Iterator[Line]:
    """Yield each line with a hit in a table, once."""
    yield from dict.fromkeys(hit.line for hit in hits if hit.table == table)
