"""Rows of the compatibility tables on a page, with where each was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudoctor.matrix import Source
from gpudoctor.matrix.table import Table
from gpudoctor.report.page import Look, Page
from gpudoctor.report.words import upper_first

Cell = str | int | float | bool | list[str] | None
_WHOLE = 3
"""Up to so many rows are shown with everything they say; more as one table."""
_COLUMNS = {
    "framework": ("release", "platform", "pythons", "accelerator", "built_with_cuda", "cudnn"),
    "cuda": ("release", "driver_linux", "minor_driver_linux", "driver_windows", "minor_driver_windows"),
    "cudnn": ("release", "cuda", "sass"),
}
"""What a table of many rows shows of a subject."""
_NONE_IS_KNOWN = {"sass", "ptx"}
"""Columns in which no value is knowledge; in others it may be that nobody looked."""
_SPELT = {
    "cuda": "CUDA", "cudnn": "cuDNN", "numpy": "NumPy", "ptx": "PTX", "sass": "SASS", "abi": "ABI", "isa": "ISA", "gib": "GiB",
    "gbs": "GB/s", "tflops": "TFLOP/s", "fp32": "FP32", "tf32": "TF32", "bf16": "BF16", "fp16": "FP16", "linux": "Linux", "windows": "Windows",
}  # fmt: skip
_GAP = 2
_UNKNOWN = "not known"


def plain(value: object) -> Cell:
    """A cell for programs: null is unknown, an empty list is none."""
    if value is None or (isinstance(value, bool | int | float | str) and type(value) in {bool, int, float, str}):
        return value
    if isinstance(value, tuple) and type(value) is tuple:
        return [str(one) for one in value]
    return str(value)


def render(subject: str, table: Table[Any], rows: Sequence[Any], sources: Sequence[Source], look: Look) -> str:
    """The rows as text that ends with a newline."""
    page = Page(look)
    if len(rows) <= _WHOLE or subject not in _COLUMNS:
        for row in rows:
            page.gap()
            _whole(page, subject, table, row)
    else:
        _many(page, _COLUMNS[subject], rows)
    page.heading("Sources")
    for source in sources:
        address = f", {source.url}" if source.url else ""
        page.paragraph(f"{source.title}{address}, read {source.read}", f"{source.id}: ", lead_style="bold", indent=2, hang=2)
    return page.render()


def _whole(page: Page, subject: str, table: Table[Any], row: Any) -> None:
    """Everything that one row says, its key first."""
    first, *others = table.columns
    page.paragraph(_shown(getattr(row, first)), f"{subject} ", style="bold")
    labels = {column: upper_first(_label(column)) for column in others}
    width = max(map(len, labels.values())) + _GAP
    for column in others:
        value = getattr(row, column)
        text = "none known" if value == () and column not in _NONE_IS_KNOWN else _shown(value)
        if column != "note" or text != _UNKNOWN:
            page.paragraph(text, f"{labels[column]:<{width}}", indent=2, hang=width, lead_style="dim")


def _many(page: Page, columns: Sequence[str], rows: Sequence[Any]) -> None:
    cells = [[_label(column) for column in columns], *([_short(getattr(row, column)) for column in columns] for row in rows)]
    widths = [max(len(row[place]) for row in cells) + _GAP for place in range(len(columns))]
    for number, row in enumerate(cells):
        page.cut(
            "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip(), indent=0, style="" if number else "bold"
        )


def _label(column: str) -> str:
    """A column's name as a person writes it."""
    return " ".join(_SPELT.get(word, word) for word in column.split("_"))


def _shown(value: object) -> str:
    if value is None or value == "":
        return _UNKNOWN
    if type(value) is tuple:
        return " ".join(map(str, value)) or "none"
    return str(value)


def _short(value: object) -> str:
    """A cell of a narrow column: of several values the first and the last."""
    if type(value) is tuple and len(value) > 2:
        return f"{value[0]} … {value[-1]}"
    return "" if value is None else _shown(value)
