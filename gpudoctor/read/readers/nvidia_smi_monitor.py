"""Reads `nvidia-smi dmon` and `nvidia-smi pmon`: columns of samples below a header of two lines that begin with #."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

MONITOR_READER = "nvidia-smi dmon"
_FACT_BY_COLUMN = {
    "pwr": ("power", "W"),
    "temp": ("temperature", "C"),
    "gtemp": ("temperature", "C"),
    "sm": ("utilization", "%"),
    "fb": ("memory used", "MiB"),
    "dbecc": ("ecc", ""),
}
"""The fact that a column of dmon states and its unit, by the names of `nvidia-smi dmon -h` in releases 352 to 580."""
_DATE_COLUMNS = frozenset({"#", "#date", "time"})
"""What a header has before the first column: `-o DT` adds the date and the time."""
_KNOWN_COLUMNS = frozenset({"pid", "pwr", "sm", "fb"})
_NO_VALUE = "-"
"""What stands in a column that the GPU does not support, and for a GPU without a process."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what the samples state. A table ends with the first line that has fewer columns than its header."""
    columns: list[str] = []
    for line in lines:
        words = line.text.split()
        if line.text.lstrip().startswith("#"):
            names = [word for word in map(str.lower, words) if word not in _DATE_COLUMNS]
            columns = names if names[:1] == ["gpu"] and _KNOWN_COLUMNS.intersection(names) else columns
        elif columns:
            sample = _sample_values(columns, words)
            columns = columns if sample else []
            for what, value in (_process_facts if {"pid", "command"}.issubset(columns) else _gpu_facts)(sample):
                yield Statement(what, value, MONITOR_READER, line.number, Directness.TOOL)


def _sample_values(columns: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """Return the values of a sample by column; empty for a line that is none. Dates stand before it, and the last column of pmon holds a command with spaces."""
    first = next((place for place, word in enumerate(words[:3]) if word.isdecimal() and len(word) < 3), None)
    values = [] if first is None else list(words[first:])
    if len(values) < len(columns) or ("command" not in columns and len(values) > len(columns)):
        return {}
    last = len(columns) - 1
    return dict(zip(columns, [*values[:last], " ".join(values[last:])], strict=True))


def _gpu_facts(sample: dict[str, str]) -> Iterator[tuple[str, str]]:
    for column, (what, unit) in _FACT_BY_COLUMN.items():
        if sample.get(column, _NO_VALUE) != _NO_VALUE:
            yield f"{what}:{sample['gpu']}", f"{sample[column]} {unit}".strip()
    if sample.get("tviol") == "1":
        yield f"clock reason:{sample['gpu']}/sw_thermal_slowdown", "Active"


def _process_facts(sample: dict[str, str]) -> Iterator[tuple[str, str]]:
    if not sample:
        return
    gpu, memory = sample["gpu"], sample.get("fb", _NO_VALUE)
    yield f"processes:{gpu}", "complete"
    if sample["pid"].isdecimal():
        size = "N/A" if memory == _NO_VALUE else f"{memory}MiB"
        yield f"process:{gpu}/{sample['pid']}", f"{sample.get('type', 'C')} {size} {sample['command']}"


READER = Reader(MONITOR_READER, blocks=_statements, cues=("#",))
