"""Reads `ldconfig -p`, the list of the libraries that the loader finds in its cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "ldconfig -p"
_COUNT_LINE = expression(r"(?P<count>\d{1,6}) libs found in cache\b")
_CACHE_ENTRY = expression(r"\s{0,12}(?P<soname>lib[\w.+-]{2,100}) \((?P<kind>[^)\n]{3,100})\) => (?P<path>/\S{4,300})\s{0,4}")
_DRIVER_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    entries = [(line, found) for line in lines if ") => /" in line.text and (found := _CACHE_ENTRY.fullmatch(line.text))]
    for line, found in entries:
        is_of_64_bits = "64" in found["kind"]
        if found["soname"] in _DRIVER_LIBRARIES and is_of_64_bits:
            yield Statement(f"cached:{found['path']}", found["soname"], _NAME, line.number, Directness.TOOL)
    first = next((line for line in lines if "libs found in cache" in line.text), None)
    head = _COUNT_LINE.search(first.text) if first else None
    if first and head and int(head["count"]) == sum(entry.number > first.number for entry, _ in entries):
        yield Statement("whole cache", head["count"], _NAME, first.number, Directness.TOOL)


READER = Reader(_NAME, blocks=_statements)
