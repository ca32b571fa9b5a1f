"""Reads a table that compares machines or environments in columns as the fields of the one that fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.compared import outcome
from gpudoctor.read.readers.field_keys import FIRST_WORDS
from gpudoctor.read.statements import Line

_GAP = expression(r"\t+| {2,}")
_PLAIN = " \t|*_`:"
_FEWEST_COLUMNS, _FEWEST_ROWS = 3, 3
_LONGEST = 400
_MARKS = {"\u2713": True, "\u2714": True, "\u2705": True, "\u2717": False, "\u2718": False, "\u274c": False}
_ANSWERS = {"yes": True, "true": True, "ok": True, "pass": True, "passed": True, "no": False, "false": False, "nok": False, "error": False}
"""What stands alone in the cell of a row about the outcome."""
_ERROR = expression(r"(?i)\berror\b|\bnot available\b|\bno kernel image\b|\bno (?:cuda|gpu)s?\b|\bcrash|\bhangs?\b|\bcpu only\b")
_CLAUSE = expression(r"[,;.]|\b(?:and|but|while|whereas|though|yet)\b")


class _Row(NamedTuple):
    line: Line
    cells: tuple[str, ...]


def of_what_fails(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with each table of several machines as the fields of one that fails; as they are where no table says which."""
    changed: dict[int, Line | None] = {}
    for table in _tables(lines):
        place = _failing(table, lines)
        for number, row in enumerate(table) if place else ():
            about = row.cells[0].strip(_PLAIN)
            text = f"{about}: {row.cells[place].strip(_PLAIN)}" if number and about else ""
            changed[row.line.number] = msgspec.structs.replace(row.line, text=text) if text else None
    if not changed:
        return list(lines)
    return [one for line in lines if (one := changed.get(line.number, line)) is not None]


def _tables(lines: Sequence[Line]) -> Iterator[list[_Row]]:
    """Yield the tables: a heading, and below it rows of as many cells that begin like fields of an issue form."""
    table: list[_Row] = []
    for line in lines:
        cells = _cells(line.text)
        if table and (len(cells) != len(table[0].cells) or line.number > table[-1].line.number + 1):
            yield from _worth([*table])
            table = []
        if len(cells) >= _FEWEST_COLUMNS:
            table.append(_Row(line, cells))
    yield from _worth(table)


def _worth(table: list[_Row]) -> Iterator[list[_Row]]:
    """Yield a table whose rows are about fields: at least two of them, and most."""
    rows = [row for row in table[1:] if set("".join(row.cells)) - set("-: ")]
    fields = sum(row.cells[0].strip(_PLAIN).lower().partition(" ")[0] in FIRST_WORDS for row in rows)
    if len(rows) >= _FEWEST_ROWS - 1 and fields >= max(2, len(rows) // 2):
        yield [table[0], *rows]


def _cells(text: str) -> tuple[str, ...]:
    """Return the cells of a row; none of a line that is no row."""
    if len(text) > _LONGEST or not ("|" in text or "\t" in text or "  " in text):
        return ()
    if "|" in text:
        return tuple(cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|"))
    return tuple(_GAP.split(text.rstrip()))


def _failing(table: Sequence[_Row], lines: Sequence[Line]) -> int:
    """Return the first column about what fails, if not all are; 0 if the text does not say which."""
    names = table[0].cells
    said = {place: _said(place, table, lines) for place in range(1, len(names))}
    fails = [place for place, answer in said.items() if answer is False]
    return fails[0] if 0 < len(fails) < len(said) else 0


def _said(place: int, table: Sequence[_Row], lines: Sequence[Line]) -> bool | None:
    """Return whether a column is about what works: by its heading, a row about the outcome, or a clause of the text that names it."""
    heading = table[0].cells[place].strip(_PLAIN)
    answers = [outcome(heading), *(_answer(row.cells[place].strip(_PLAIN)) for row in table[1:])]
    if found := [one for one in answers if one is not None]:
        return all(found)
    numbers = {row.line.number for row in table}
    named = heading.lower()
    clauses = (clause for line in lines if line.number not in numbers and named in line.text.lower() for clause in _CLAUSE.split(line.text))
    spoken = [outcome(clause) for clause in clauses if len(named) > 1 and named in clause.lower()]
    return next((one for one in spoken if one is not None), None)


def _answer(cell: str) -> bool | None:
    """Return whether a cell says that it works; None for a cell about something else."""
    mark = next((answer for sign, answer in _MARKS.items() if sign in cell), None)
    if mark is not None:
        return mark
    return False if _ERROR.search(cell) else _ANSWERS.get(cell.lower(), outcome(cell))
