"""Reads a table that compares machines or environments, in columns or in rows, as the fields of the one that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.comparisons import outcome_of_words
from gpudoctor.read.readers.field_keys import FIRST_WORDS
from gpudoctor.read.statements import Line

_COLUMN_GAP = expression(r"\t+| {2,}")
_CELL_MARGIN = " \t|*_`:"
_MIN_COLUMNS, _MIN_ROWS = 3, 3
_LONGEST = 400
_OUTCOME_SIGNS = {"\u2713": True, "\u2714": True, "\u2705": True, "\u2717": False, "\u2718": False, "\u274c": False}
_OUTCOME_WORDS = {
    "yes": True,
    "true": True,
    "ok": True,
    "pass": True,
    "passed": True,
    "no": False,
    "false": False,
    "nok": False,
    "error": False,
}
"""What stands alone in the cell of a row about the outcome."""
_ERROR_WORDS = expression(r"(?i)\berror\b|\bnot available\b|\bno kernel image\b|\bno (?:cuda|gpu)s?\b|\bcrash|\bhangs?\b|\bcpu only\b")
_CLAUSE_BREAK = expression(r"[,;.]|\b(?:and|but|while|whereas|though|yet)\b")


class _TableRow(NamedTuple):
    line: Line
    cells: tuple[str, ...]


def with_failing_column(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with each table of several machines as the fields of one that fails; as they are where no table says which."""
    changed: dict[int, Line | None] = {}
    for table in _comparison_tables(lines, _has_fields_in_rows):
        place = _failing_column(table, lines)
        for number, row in enumerate(table) if place else ():
            about = row.cells[0].strip(_CELL_MARGIN)
            text = f"{about}: {row.cells[place].strip(_CELL_MARGIN)}" if number and about else ""
            changed[row.line.number] = msgspec.structs.replace(row.line, text=text) if text else None
    rows: dict[int, Sequence[Line | None]] = {
        row.line.number: fields for table in _comparison_tables(lines, _has_fields_in_heading) for row, fields in _failing_rows(table)
    }
    if not (changed or rows):
        return list(lines)
    told = (rows.get(line.number, [changed.get(line.number, line)]) for line in lines)
    return [line for several in told for line in several if line is not None]


def _failing_rows(table: Sequence[_TableRow]) -> Iterator[tuple[_TableRow, list[Line]]]:
    """Yield each row of a table with a machine a row, with the fields of the first that fails; nothing if not only some of them fail."""
    said = [_outcome_of_cells([cell.strip(_CELL_MARGIN) for cell in row.cells]) for row in table[1:]]
    if False not in said or all(one is False for one in said):
        return
    failing = said.index(False)
    names = [cell.strip(_CELL_MARGIN) for cell in table[0].cells]
    yield table[0], []
    for place, row in enumerate(table[1:]):
        pairs = zip(names, row.cells, strict=True) if place == failing else ()
        yield row, [msgspec.structs.replace(row.line, text=f"{name}: {cell.strip(_CELL_MARGIN)}") for name, cell in pairs if name]


def _outcome_of_cells(cells: Sequence[str]) -> bool | None:
    """Return whether the cells of one machine say that it works; None if they say nothing of it."""
    found = [one for cell in cells if (one := _outcome_of_cell(cell)) is not None]
    return all(found) if found else None


def _comparison_tables(lines: Sequence[Line], worth: Callable[[list[_TableRow]], bool]) -> Iterator[list[_TableRow]]:
    """Yield the tables: a heading, and below it rows of as many cells that begin like fields of an issue form."""
    table: list[_TableRow] = []
    for line in lines:
        cells = _cells_of_row(line.text)
        if table and (len(cells) != len(table[0].cells) or line.number > table[-1].line.number + 1):
            yield from _worthwhile_tables(table, worth)
            table = []
        if len(cells) >= _MIN_COLUMNS:
            table.append(_TableRow(line, cells))
    yield from _worthwhile_tables(table, worth)


def _worthwhile_tables(table: list[_TableRow], worth: Callable[[list[_TableRow]], bool]) -> Iterator[list[_TableRow]]:
    """Yield a table with at least two rows below its heading, if it is worth it."""
    rows = [row for row in table[1:] if set("".join(row.cells)) - set("-: ")]
    if len(rows) >= _MIN_ROWS - 1 and worth([table[0], *rows]):
        yield [table[0], *rows]


def _has_fields_in_rows(table: list[_TableRow]) -> bool:
    """Return whether the rows of a table are about fields: at least two of them, and most."""
    fields = sum(_is_field(row.cells[0]) for row in table[1:])
    return fields >= max(2, (len(table) - 1) // 2)


def _has_fields_in_heading(table: list[_TableRow]) -> bool:
    """Return whether the heading of a table names fields, and its rows do not."""
    return sum(map(_is_field, table[0].cells)) >= _MIN_ROWS - 1 and not _has_fields_in_rows(table)


def _is_field(cell: str) -> bool:
    return cell.strip(_CELL_MARGIN).lower().partition(" ")[0] in FIRST_WORDS


def _cells_of_row(text: str) -> tuple[str, ...]:
    """Return the cells of a row; none of a line that is no row."""
    if len(text) > _LONGEST or not ("|" in text or "\t" in text or "  " in text):
        return ()
    if "|" in text:
        return tuple(cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|"))
    return tuple(_COLUMN_GAP.split(text.rstrip()))


def _failing_column(table: Sequence[_TableRow], lines: Sequence[Line]) -> int:
    """Return the first column about what fails, if not all are; 0 if the text does not say which."""
    names = table[0].cells
    said = {place: _outcome_of_column(place, table, lines) for place in range(1, len(names))}
    fails = [place for place, answer in said.items() if answer is False]
    return fails[0] if 0 < len(fails) < len(said) else 0


def _outcome_of_column(place: int, table: Sequence[_TableRow], lines: Sequence[Line]) -> bool | None:
    """Return whether a column is about what works: by its heading, a row about the outcome, or a clause of the text that names it."""
    heading = table[0].cells[place].strip(_CELL_MARGIN)
    answers = [outcome_of_words(heading), _outcome_of_cells([row.cells[place].strip(_CELL_MARGIN) for row in table[1:]])]
    if found := [answer for answer in answers if answer is not None]:
        return all(found)
    numbers = {row.line.number for row in table}
    named = heading.lower()
    clauses = (
        clause for line in lines if line.number not in numbers and named in line.text.lower() for clause in _CLAUSE_BREAK.split(line.text)
    )
    spoken = [outcome_of_words(clause) for clause in clauses if len(named) > 1 and named in clause.lower()]
    return next((one for one in spoken if one is not None), None)


def _outcome_of_cell(cell: str) -> bool | None:
    """Return whether a cell says that it works; None for a cell about something else."""
    mark = next((answer for sign, answer in _OUTCOME_SIGNS.items() if sign in cell), None)
    if mark is not None:
        return mark
    return False if _ERROR_WORDS.search(cell) else _OUTCOME_WORDS.get(cell.lower(), outcome_of_words(cell))
