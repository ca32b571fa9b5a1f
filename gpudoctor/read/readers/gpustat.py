"""Reads gpustat, which prints a line for each GPU. Its source: https://github.com/wookayin/gpustat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "gpustat"
_GPU_ROW = expression(
    r"^\s{0,8}\[(?P<index>\d{1,2})\] (?P<gpu>[A-Z][^|]{2,60}?) {0,40}\|[^|]{0,40}%[^|]{0,40}\| {0,8}(?P<used>\d{1,6}) / {1,8}(?P<total>\d{1,6}) MB\b"
)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for line in lines:
        row = _GPU_ROW.match(line.text) if " MB" in line.text else None
        if row is not None:
            yield Statement(f"gpu:{row['index']}", row["gpu"], _NAME, line.number, Directness.TOOL)
            yield Statement(f"memory used:{row['index']}", f"{row['used']} MiB", _NAME, line.number, Directness.TOOL)
            yield Statement(f"memory total:{row['index']}", f"{row['total']} MiB", _NAME, line.number, Directness.TOOL)


READER = Reader(_NAME, blocks=_statements)
