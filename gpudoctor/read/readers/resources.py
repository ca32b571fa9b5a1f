"""Reads processor, memory and limits: lscpu, /proc/cpuinfo, free, /proc/meminfo, df and mount of /dev/shm, ulimit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "processor and memory"
_FREE_LINE = expression(r"Mem:\s{1,40}(?P<total>\d[\d.]{0,12}(?:[KMGT]i?|B)?)\s{1,20}\d\S{0,12}\s{1,20}\d\S{0,12}")
_FREE_COLUMNS = ("total", "used", "free")
_MIN_CPU_FEATURES = 20
"""Features that every x86-64 processor has more of: a shorter list was cut."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for place, line in enumerate(lines):
        text = line.text.strip()
        if text.startswith(("flags", "Flags", "Features")) and ":" in text:
            features = text.partition(":")[2].split()
            if len(features) >= _MIN_CPU_FEATURES:
                yield Statement("cpu features", " ".join(features), _NAME, line.number, Directness.TOOL)
        elif text.startswith("Mem:") and place:
            found, head = _FREE_LINE.match(text), lines[place - 1].text.split()
            if found and tuple(head[:3]) == _FREE_COLUMNS:
                unit = "" if found["total"][-1].isalpha() else "K"
                yield Statement("memory total", found["total"] + unit, _NAME, line.number, Directness.LISTING)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("cpu model", r"^\s*[Mm]odel name\s{0,40}: (?P<value>\S.{2,80})"),
        StatementForm("cpu model", r"^\s*Model name:\s{1,60}(?P<value>\S.{2,80})"),
        StatementForm("memory total", r"^MemTotal:\s{1,20}(?P<value>\d{1,14} kB)"),
        StatementForm(
            "shm",
            r"^(?P<name>\S{1,60})\s{1,40}(?P<value>\d[\d.]{0,12}[KMGT]?)\s{1,20}\d\S{0,12}\s{1,20}\d\S{0,12}\s{1,20}\d{1,3}%\s{1,4}/dev/shm\s*$",
        ),
        StatementForm("shm", r"^(?P<name>\S{1,60}) on /dev/shm type tmpfs \(\S{0,200}\bsize=(?P<value>\d{1,14}[kmgKMG]?)"),
        StatementForm("memlock", r"^max locked memory\s{1,20}\(kbytes, -l\) (?P<value>\d{1,14}|unlimited)"),
        StatementForm("open files", r"^open files\s{1,30}\(-n\) (?P<value>\d{1,14}|unlimited)"),
    ),
    blocks=_statements,
    of_kernel=True,
)
