"""Reads the table of `nvidia-smi`, whose layouts since 2016 differ in the width and number of columns but not in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "nvidia-smi"
_TABLE_MARKS = ("NVIDIA-SMI", "MiB", "Persistence-M", "ERR!")
_GAP_FORM = r"[\s|]+"
_ADDRESS_FORM = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d"
_PART_HEADINGS = (
    (expression(r"MIG devices:"), "mig"),
    (expression(r"\b(?:Compute p|P)rocesses:|\bPID\s+(?:Type\s+)?Process name"), "processes"),
    (expression(r"NVIDIA-SMI\s+\d|\bGPU\s+Name\b"), "gpus"),
)
"""What begins each part of the table."""
_MAX_ROWS_APART = 3
"""Lines after which a table has ended, if none of them has a bar or an amount of memory."""
_FIRST_ROW = expression(
    rf"^\W*(?P<index>\d{{1,3}}){_GAP_FORM}(?P<gpu>\S[^|]{{1,60}}?){_GAP_FORM}(?:(?P<persistence>On|Off|N/A|WDDM|TCC|MCDM|ERR!){_GAP_FORM})?"
    rf"(?P<address>{_ADDRESS_FORM})(?:{_GAP_FORM}(?:On|Off|N/A|ERR!))?(?:{_GAP_FORM}(?P<ecc>\d{{1,20}}|N/A|On|Off|ERR!)\*?)?(?=[\s|]|$)"
)
_SHORT_ROW = expression(r"^\s*\|\s{1,5}(?P<index>\d{1,3})\s{1,4}(?P<gpu>(?!N/A)[A-Z][^|]{3,60}?)(?:\s{2,}[^|]*)?\|")
"""A first row without a bus address, as people shorten it."""
_SENSOR_CELLS = expression(
    r"(?P<fan>\d{1,3}%|N/A|ERR!)\s+(?P<temperature>\d{1,3}C|N/A|ERR!)\s+(?P<state>P\d{1,2}|N/A|ERR!|Unknown!?)"
    r"[\s|]+(?P<power>\d{1,5}W|N/A|ERR!|Unknown Error)\s{0,4}/\s{0,6}(?P<limit>\d{1,5}W|N/A|ERR!)"
)
_MEMORY_CELL = expression(r"(?<![\d.])(?P<used>\d{1,8}) ?Mi?B\s{0,6}/\s{0,8}(?P<total>\d{1,8}) ?Mi?B")
_MODE_CELLS = expression(
    r"(?:(?P<load>\d{1,3}%|N/A|ERR!)\s{1,12})?(?P<mode>Default|E\. ?Process|E\. ?Thread|Exclusive_\w{4,10}|Prohibited)\b"
)
_MIG_ROW = expression(r"^[\s|]*(?P<mode>Enabled|Disabled|N/A)\*?[\s|]*$")
_MIG_MODE = expression(r"\bMIG (?:M\.|[Mm]ode)[\s:|]{1,4}(?P<mode>Enabled|Disabled)\b")
_MIG_DEVICE_ROW = expression(
    rf"^\W*(?P<gpu>\d{{1,3}}){_GAP_FORM}(?P<gi>\d{{1,3}}){_GAP_FORM}(?P<ci>\d{{1,3}}){_GAP_FORM}(?P<place>\d{{1,3}}){_GAP_FORM}(?P<used>\d{{1,8}})MiB\s*/\s*(?P<total>\d{{1,8}})MiB"
)
_PROCESS_ROW = expression(
    r"^\W*(?P<gpu>\d{1,3})\s+(?:(?:\d{1,3}|N/A)\s+(?:\d{1,3}|N/A)\s+)?(?P<pid>\d{1,10})\s+(?:(?P<type>(?:M\+)?C(?:\+G)?|G|M)\s+)?(?P<name>\S.{0,120}?)"
    r"(?:\s+(?P<memory>\d{1,8}) ?Mi?B|\s+N/A|\s+ERR!)?[\s|]*$"
)
_VERSIONS_LINE = expression(
    r"NVIDIA-SMI (?P<program>\d{3}\.\d{2,3}(?:\.\d{2,3})?)\s{1,40}(?:Driver|KMD) Version: (?P<driver>\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b"
)
_WINDOWS_ROW = expression(r"\s(?:WDDM|TCC|MCDM)\s{1,4}\|")
_LINUX_WORDS = expression(r"(?i)\b(?:wsl|linux|ubuntu|debian|docker)")
_BORDER_LINE = expression(r"^\s*\+-{10,}")


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    if any(mark in line.text for line in lines for mark in _TABLE_MARKS):
        reading = _TableReading()
        for line in _unwrapped_rows(lines):
            yield from reading.of(line)
        yield from _platform_statements(lines)


def _platform_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what the table shows of the system.

    Under WSL nvidia-smi is Linux's and the driver is Windows's, which has two numbers, the higher ones of the two. An nvidia-smi that is newer than
    the driver belongs to an image or to an update that was not loaded.
    """
    windows = next((line for line in lines if _WINDOWS_ROW.search(line.text)), None)
    if windows is not None and not any(_LINUX_WORDS.search(line.text) for line in lines):
        yield Statement("platform:windows", "nvidia-smi shows a driver model", _NAME, windows.number, Directness.PROSE)
    for line in lines:
        found = _VERSIONS_LINE.search(line.text) if "NVIDIA-SMI" in line.text else None
        if found is not None and found["driver"].count(".") == 1 and _is_newer_driver(found["driver"], than=found["program"]):
            yield Statement("platform:wsl2", f"nvidia-smi {found['program']}, driver {found['driver']}", _NAME, line.number, Directness.LOG)
            return


def _is_newer_driver(driver: str, than: str) -> bool:
    version, other = versions.parse_version(driver), versions.parse_version(than)
    return version is not None and other is not None and version > other


def _unwrapped_rows(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines, with a row that a mail program broke in two made whole, and the bars that Markdown needs escaped made plain."""
    begun: Line | None = None
    for line in lines:
        text = line.text.replace("\\|", "|")
        if begun is not None:
            if text.rstrip().endswith("|") and not text.lstrip().startswith(("|", "+")):
                yield Line(begun.number, f"{begun.text} {text.lstrip()}")
                begun = None
                continue
            yield begun
            begun = None
        plain = Line(line.number, text)
        if text.lstrip().startswith("|"):
            begun = plain
        else:
            yield plain
    if begun is not None:
        yield begun


class _TableReading:
    """Where in a table a reading is: its part, and the GPU whose rows come next."""

    def __init__(self) -> None:
        self.part = ""
        self.index = ""
        self.indexes: list[str] = []
        self.listed = False
        """Some table before listed processes: a later one shows another time."""
        self.listing = False
        self.away = 0
        """Lines since the last one that looked like a table's."""

    def of(self, line: Line) -> Iterator[Statement]:
        """Yield what a line states."""
        for opening, part in _PART_HEADINGS:
            if opening.search(line.text):
                self.part, self.index, self.away = part, "", 0
                if part == "gpus" and "NVIDIA-SMI" in line.text:
                    self.indexes, self.listed, self.listing = [], self.listed or self.listing, False
                return
        first = _FIRST_ROW.match(line.text)
        self.away = 0 if first or "|" in line.text or "MiB" in line.text else self.away + 1
        if first is not None:
            self.part = "gpus"
        elif self.away > _MAX_ROWS_APART:
            self.part = ""
        facts = {"gpus": self._gpu_facts, "mig": self._instance_facts, "processes": self._process_facts}.get(self.part)
        if facts is not None:
            for what, value in facts(line.text, first):
                yield Statement(what, value, _NAME, line.number, Directness.TOOL)

    def _gpu_facts(self, text: str, first: re.Match[str] | None) -> Iterator[tuple[str, str]]:
        row = first or _SHORT_ROW.match(text)
        if row is not None:
            self.index = str(int(row["index"]))
            self.indexes.append(self.index)
            yield f"gpu:{self.index}", row["gpu"].strip()
        if first is not None:
            yield f"address:{self.index}", first["address"]
            yield from self._stated(first, "persistence", "ecc")
        if not self.index:
            return
        for form in (_SENSOR_CELLS, _MEMORY_CELL, _MODE_CELLS):
            found = form.search(text)
            if found is not None:
                yield from self._stated(found, *found.groupdict())
        mig = (_MIG_ROW.match(text) if row is None else None) or _MIG_MODE.search(text)
        if mig is not None:
            yield f"mig mode:{self.index}", mig["mode"]

    def _stated(self, found: re.Match[str], *groups: str) -> Iterator[tuple[str, str]]:
        for group in groups:
            if found[group]:
                yield f"{_FACT_BY_GROUP[group]}:{self.index}", found[group] + (" MiB" if group in ("used", "total") else "")

    def _instance_facts(self, text: str, _: object) -> Iterator[tuple[str, str]]:
        device = _MIG_DEVICE_ROW.match(text)
        if device is not None:
            place = f"mig device:{int(device['gpu'])}/{int(device['place'])}"
            yield place, f"{device['gi']} {device['ci']} {device['used']} MiB {device['total']} MiB"
        elif "No MIG devices found" in text:
            yield from ((f"mig devices:{index}", "None") for index in self.indexes)

    def _process_facts(self, text: str, _: object) -> Iterator[tuple[str, str]]:
        if self.listed:
            return
        process = _PROCESS_ROW.match(text)
        if process is not None:
            self.listing = True
            memory = f"{process['memory']}MiB" if process["memory"] else "N/A"
            yield f"process:{int(process['gpu'])}/{process['pid']}", f"{process['type'] or 'C'} {memory} {process['name']}"
        elif "No running processes found" in text or _BORDER_LINE.match(text):
            yield from ((f"processes:{index}", "complete") for index in self.indexes)
            self.part, self.listing, self.listed = "", False, True


_FACT_BY_GROUP = {
    "persistence": "persistence",
    "ecc": "ecc",
    "fan": "fan",
    "temperature": "temperature",
    "state": "performance state",
    "power": "power",
    "limit": "power limit",
    "used": "memory used",
    "total": "memory total",
    "load": "utilization",
    "mode": "compute mode",
}
"""The keys of the facts, by the groups of the patterns."""

READER = Reader(_NAME, blocks=_statements)
