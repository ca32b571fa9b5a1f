"""A CSV table: its rows, their columns, and their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from gpudoctor.matrix.cells import CellKind, kind_of

Row = TypeVar("Row")


class Table(msgspec.Struct, Generic[Row], frozen=True):
    """A table: `name`.csv has one row a line, sorted by the unique `key`. The columns are the fields of `row`, in order.

    In a `joined` table rows that differ in the second column alone are one line, with all its values, in the place of the first row.
    """

    name: str
    row: type[Row]
    key: Callable[[Row], Any]
    joined: bool = False

    @property
    def columns(self) -> dict[str, CellKind]:
        """The kind of each column, by name, in order."""
        row: Any = self.row  # mypy does not know that every type can be hashed
        return _column_kinds(row)

    def rows(self, cells: list[str]) -> list[Row]:
        """The rows of one line. Raises ValueError that names the wrong column."""
        if not self.joined or len(cells) < 2:
            return [self.parse(cells)]
        return [self.parse([cells[0], value, *cells[2:]]) for value in cells[1].split(" ")]

    def parse(self, cells: list[str]) -> Row:
        """The row with these cells. Raises ValueError that names the wrong column."""
        kinds = self.columns.values()
        if len(cells) != len(kinds):
            raise ValueError(f"has {len(cells)} cells where the header names {len(kinds)}")
        try:
            return self.row(*[kind.parse(cell) for kind, cell in zip(kinds, cells, strict=True)])
        except ValueError:
            self._raise_for_wrong_column(cells)
            raise

    def _raise_for_wrong_column(self, cells: list[str]) -> None:
        """Raise for the wrong column; normal parsing skips this, because nearly all rows are right."""
        column = ""
        try:
            for column, cell in zip(self.columns, cells, strict=True):
                self.columns[column].parse(cell)
        except ValueError as problem:
            raise ValueError(f"column {column} {problem}") from None

    def dump(self, row: Row) -> list[str]:
        """The cells of a row."""
        return [kind.dump(getattr(row, column)) for column, kind in self.columns.items()]


@cache
def _column_kinds(row: type[Any]) -> dict[str, CellKind]:
    return {field: kind_of(annotation) for field, annotation in row.__annotations__.items()}
