"""Finds the compatibility tables on disk and reads them; an error names the file and line."""
# pathlib costs 10 ms at start-up and this module is on the hot path
# ruff: noqa: PTH100, PTH112, PTH118, PTH120

from __future__ import annotations

import csv
import functools
import os
from bisect import bisect_left, bisect_right
from typing import Any

from gpudoctor.errors import TableError, UsageError
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.consistency import table_contradictions
from gpudoctor.matrix.table import Row, Table
from gpudoctor.regular_files import file_beginning

_MAX_TABLE_BYTES = 64 << 20
"""Bytes of a table; the largest has less than one MiB."""


def open_matrix(directory: str | None = None) -> Matrix:
    """The shipped tables, each read on first use; or those in `directory`, all read and checked at once.

    Raises UsageError for a missing folder or an unreadable table, TableError for a wrong row.
    """
    folder = shipped_tables() if directory is None else directory
    if not os.path.isdir(folder):
        raise UsageError(f"--compat: {folder} is not a folder; name one with compatibility tables or leave the option out.")

    content = functools.cache(_table_content)

    def read(table: Table[Row], distribution: str = "", platform: str = "", release: str = "") -> tuple[Row, ...]:
        path = os.path.join(folder, f"{table.name}.csv")
        return parse_table(path, content(path), table, distribution, platform, release=release)

    matrix = Matrix(read)
    if directory is not None:
        _refuse_contradictions(matrix, directory)
    return matrix


def _refuse_contradictions(matrix: Matrix, directory: str) -> None:
    """Raise UsageError for a user's tables that contradict each other."""
    for problem in table_contradictions(matrix):
        raise UsageError(f"The compatibility tables in {directory} are inconsistent: {problem}")


def _table_content(path: str) -> bytes:
    try:
        return file_beginning(path, _MAX_TABLE_BYTES)
    except OSError as error:
        raise UsageError(f"The compatibility table {path} cannot be read: {error.strerror}; restore it or leave out --compat.") from None


def read_table(directory: str, table: Table[Row]) -> tuple[Row, ...]:
    """The rows of `directory`/`table.name`.csv. Raises UsageError if it cannot be read, TableError for a wrong row."""
    path = os.path.join(directory, f"{table.name}.csv")
    return parse_table(path, _table_content(path), table)


def parse_table(
    path: str, content: bytes, table: Table[Row], distribution: str = "", platform: str = "", *, release: str = ""
) -> tuple[Row, ...]:
    """The rows of a table's file: only those of one distribution (the first cell), of lines with its one release (the second), or for one platform, if named.

    The file is UTF-8: a header, then sorted lines; `path` is for the TableError.
    """
    if not content.endswith(b"\n"):
        raise TableError(path, content.count(b"\n") + 1, "the last line has no newline" if content else "the file is empty")
    beginning = f"{distribution},".encode() if distribution else b""
    wanted = release.encode(errors="replace")
    column = list(table.columns).index("platform") if platform else 0
    platforms = (platform.encode(), b"any")
    rows: dict[Any, Row] = {}
    place, key = 0, None
    try:
        _check_header(table, _cells_of_line(content[: content.index(b"\n")]))
        place, end = _matching_lines(content, beginning)
        for line in content[place:end].split(b"\n")[:-1]:
            named = not wanted or wanted in line.partition(b",")[2].partition(b",")[0].split(b" ")
            if named and (not platform or line.split(b",", column + 1)[column] in platforms):
                key = _add_rows(table, _cells_of_line(line), rows, key)
            place += len(line) + 1
    except (ValueError, csv.Error) as problem:
        raise TableError(path, content.count(b"\n", 0, place) + 1, str(problem)) from None
    return tuple(rows[key] for key in sorted(rows)) if table.joined else tuple(rows.values())


def _matching_lines(content: bytes, beginning: bytes) -> tuple[int, int]:
    """Return where the lines with this beginning start and end, below the header; they are in order.

    A check looks up thirty distributions, most of them not in a file of 400 kB: searching it takes a hundred times as long, in all 4 ms.
    """

    def line_begins(place: int) -> bytes:
        start = content.rfind(b"\n", 0, place) + 1
        return content[start : start + len(beginning)]

    rows = range(content.index(b"\n") + 1, len(content))
    first = rows.start + bisect_left(rows, beginning, key=line_begins)
    if not content.startswith(beginning, first):
        return first, first
    return first, rows.start + bisect_right(rows, beginning, key=line_begins)


def _check_header(table: Table[Row], cells: list[str]) -> None:
    if cells != list(table.columns):
        raise ValueError(f"the header is not {','.join(table.columns)}")


def _add_rows(table: Table[Row], cells: list[str], rows: dict[Any, Row], before: Any) -> Any:
    """Add a line's rows to `rows`; returns the first one's key, which must sort after that of the line before."""
    keys = []
    for row in table.rows(cells):
        keys.append(table.key(row))
        if keys[-1] in rows or (rows and not before < keys[-1]):
            raise ValueError("duplicates another row or is not in order")
        rows[keys[-1]] = row
        before = keys[-1]
    return keys[0]


def _cells_of_line(line: bytes) -> list[str]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    if "\r" in text:
        raise ValueError("contains a carriage return")
    if '"' not in text:
        return text.split(",") if text else []
    return next(csv.reader([text], strict=True), [])


def shipped_tables() -> str:
    """The folder of the shipped tables: in an installed package, or beside it in a clone."""
    package = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(package, "compat")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(package), "compat")
