"""Reads a table that compares machines or environments, in columns or in rows, as the fields of the one that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    for table in _tables(lines, _by_column):
        place = _failing(table, lines)
        for number, row in enumerate(table) if place else ():
            about = row.cells[0].strip(_PLAIN)
            text = f"{about}: {row.cells[place].strip(_PLAIN)}" if number and about else ""
            changed[row.line.number] = msgspec.structs.replace(row.line, text=text) if text else None
    rows: dict[int, Sequence[Line | None]] = {
        row.line.number: fields for table in _tables(lines, _by_row) for row, fields in _failing_row(table)
    }
    if not (changed or rows):
        return list(lines)
    told = (rows.get(line.number, [changed.get(line.number, line)]) for line in lines)
    return [line for several in told for line in several if line is not None]


def _failing_row(table: Sequence[_Row]) -> Iterator[tuple[_Row, list[Line]]]:
    """Yield each row of a table with a machine a row, with the fields of the first that fails; nothing if not only some of them fail."""
    said = [_said_by([cell.strip(_PLAIN) for cell in row.cells]) for row in table[1:]]
    if False not in said or all(one is False for one in said):
        return
    failing = said.index(False)
    names = [cell.strip(_PLAIN) for cell in table[0].cells]
    yield table[0], []
    for place, row in enumerate(table[1:]):
        pairs = zip(names, row.cells, strict=True) if place == failing else ()
        yield row, [msgspec.structs.replace(row.line, text=f"{name}: {cell.strip(_PLAIN)}") for name, cell in pairs if name]


def _said_by(cells: Sequence[str]) -> bool | None:
    """Return whether the cells of one machine say that it works; None if they say nothing of it."""
    found = [one for cell in cells if (one := _answer(cell)) is not None]
    return all(found) if found else None


def _tables(lines: Sequence[Line], worth: Callable[[list[_Row]], bool]) -> Iterator[list[_Row]]:
    """Yield the tables: a heading, and below it rows of as many cells that begin like fields of an issue form."""
    table: list[_Row] = []
    for line in lines:
        cells = _cells(line.text)
        if table and (len(cells) != len(table[0].cells) or line.number > table[-1].line.number + 1):
            yield from _kept(table, worth)
            table = []
        if len(cells) >= _FEWEST_COLUMNS:
            table.append(_Row(line, cells))
    yield from _kept(table, worth)


def _kept(table: list[_Row], worth: Callable[[list[_Row]], bool]) -> Iterator[list[_Row]]:
    """Yield a table with at least two rows below its heading, if it is worth it."""
    rows = [row for row in table[1:] if set("".join(row.cells)) - set("-: ")]
    if len(rows) >= _FEWEST_ROWS - 1 and worth([table[0], *rows]):
        yield [table[0], *rows]


def _by_column(table: list[_Row]) -> bool:
    """Return whether the rows of a table are about fields: at least two of them, and most."""
    fields = sum(_is_field(row.cells[0]) for row in table[1:])
    return fields >= max(2, (len(table) - 1) // 2)


def _by_row(table: list[_Row]) -> bool:
    """Return whether the heading of a table names fields, and its rows do not."""
    return sum(map(_is_field, table[0].cells)) >= _FEWEST_ROWS - 1 and not _by_column(table)


def _is_field(cell: str) -> bool:
    return cell.strip(_PLAIN).lower().partition(" ")[0] in FIRST_WORDS


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
    answers = [outcome(heading), _said_by([row.cells[place].strip(_PLAIN) for row in table[1:]])]
    if found := [answer for answer in answers if answer is not None]:
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
