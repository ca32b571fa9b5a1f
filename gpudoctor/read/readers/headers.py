"""Reads the versions that the headers of CUDA and cuDNN define, as people print them with grep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "headers of CUDA and cuDNN"
_CUDNN_DEFINE = expression(r"#\s{0,3}define\s{1,8}CUDNN_(?P<part>MAJOR|MINOR|PATCHLEVEL)\s{1,8}(?P<number>\d{1,2})\b")
_CUDA_DEFINE = expression(r"#\s{0,3}define\s{1,8}(?:CUDA_VERSION|CUDART_VERSION|CUDA_API_PER_THREAD_VERSION)\s{1,8}(?P<number>\d{4,5})\b")
_VERSION_PARTS = ("MAJOR", "MINOR", "PATCHLEVEL")


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    parts: dict[str, str] = {}
    first = 0
    for line in lines:
        if found := _CUDNN_DEFINE.search(line.text):
            if found["part"] in parts:  # another header
                yield from _cudnn_statements(parts, first)
                parts = {}
            first = first if parts else line.number
            parts[found["part"]] = found["number"]
        elif found := _CUDA_DEFINE.search(line.text):
            number = int(found["number"])
            yield Statement("toolkit", f"{number // 1000}.{number % 1000 // 10}", _NAME, line.number, Directness.LISTING)
    yield from _cudnn_statements(parts, first)


def _cudnn_statements(parts: dict[str, str], line: int) -> Iterator[Statement]:
    """Yield the release that the shown parts of a header make, up to the first that is not shown."""
    shown = [parts[part] for part in takewhile(parts.__contains__, _VERSION_PARTS)]
    if shown:
        yield Statement("cudnn", ".".join(shown), _NAME, line, Directness.LISTING)


READER = Reader(_NAME, blocks=_statements, cues=("define",))
