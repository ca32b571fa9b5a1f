"""Reads `nvidia-smi --query-gpu=… --format=csv`: rows of values whose names are in the header, or in the command if it says noheader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.snapshot import normalise_address

_NAME = "nvidia-smi --query-gpu"
_QUERY_COMMAND = expression(r"--query-(?:gpu|remapped-rows|retired-pages)[= ](?P<names>[\w.,]{3,2000})")
_COLUMN_NAME = expression(r"^[\w.]{2,80}(?: \[(?:MiB|MHz|W|%)\])?$")
_MAX_COLUMNS = 80
"""Names in a query: more is no table that a person pasted."""
FACT_BY_COLUMN = {
    "name": "gpu",
    "gpu_name": "gpu",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "pci.bus_id": "address",
    "gpu_bus_id": "address",
    "memory.total": "memory total",
    "memory.used": "memory used",
    "memory.free": "memory free",
    "memory.reserved": "memory reserved",
    "utilization.gpu": "utilization",
    "temperature.gpu": "temperature",
    "power.draw": "power",
    "enforced.power.limit": "power limit",
    "power.default_limit": "power limit default",
    "pstate": "performance state",
    "compute_mode": "compute mode",
    "compute_cap": "capability",
    "persistence_mode": "persistence",
    "mig.mode.current": "mig mode",
    "mig.mode.pending": "mig pending",
    "ecc.mode.current": "ecc mode",
    "ecc.mode.pending": "ecc pending",
    "ecc.errors.uncorrected.volatile.total": "ecc",
    "ecc.errors.uncorrected.aggregate.total": "ecc total",
    "retired_pages.single_bit_ecc.count": "retired single",
    "retired_pages.sbe": "retired single",
    "retired_pages.double_bit.count": "retired double",
    "retired_pages.dbe": "retired double",
    "retired_pages.pending": "retirement pending",
    "remapped_rows.correctable": "remapped correctable",
    "remapped_rows.uncorrectable": "remapped uncorrectable",
    "remapped_rows.pending": "remap pending",
    "remapped_rows.failure": "remap failed",
    "pcie.link.gen.current": "link generation",
    "pcie.link.gen.max": "link generation max",
    "pcie.link.gen.gpumax": "link generation own",
    "pcie.link.width.current": "link width",
    "pcie.link.width.max": "link width max",
    "reset_status.reset_required": "reset required",
    "reset_status.drain_and_reset_recommended": "drain recommended",
    "fabric.state": "fabric state",
    "fabric.status": "fabric status",
    "driver_version": "driver",
    "index": "index",
}
"""The keys of the facts, by the names of `nvidia-smi --help-query-gpu` in releases 470 to 550."""
_CLOCK_REASON = expression(r"clocks_(?:throttle|event)_reasons\.(?P<reason>\w{4,40})")
_UNIT_BY_FACT = {"memory total": "MiB", "memory used": "MiB", "memory free": "MiB", "memory reserved": "MiB"}
"""The units that a query with nounits leaves out."""
_FLAGS = {"remap pending", "remap failed", "retirement pending"}
_ANSWERS = {"0": "No", "1": "Yes"}
"""What --query-remapped-rows prints of a flag, as other queries print it."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what the rows state. A table ends with the first line that has another number of values."""
    names: list[str] = []
    started = False
    row = 0
    for line in lines:
        command = _QUERY_COMMAND.search(line.text) if "--query-" in line.text else None
        if command is not None:
            names, row, started = command["names"].strip(",").split(","), 0, False
            continue
        cells = [cell.strip() for cell in line.text.split(",")] if "," in line.text or len(names) == 1 else []
        if _is_header(cells):
            names, row, started = [cell.partition(" ")[0] for cell in cells], 0, False
        elif names and len(cells) == len(names) and not any(cell in FACT_BY_COLUMN for cell in cells):
            for what, value in _row_facts(dict(zip(names, cells, strict=True)), str(row)):
                yield Statement(what, value, _NAME, line.number, Directness.TOOL)
            row, started = row + 1, True
        elif started:
            names = []


def _is_header(cells: Sequence[str]) -> bool:
    if not 1 < len(cells) <= _MAX_COLUMNS or not all(_COLUMN_NAME.match(cell) for cell in cells):
        return False
    names = [cell.partition(" ")[0] for cell in cells]
    known = sum(name in FACT_BY_COLUMN or _CLOCK_REASON.fullmatch(name) is not None for name in names)
    return known >= 2 or (known == 1 and any(" [" in cell for cell in cells))


def _row_facts(row: dict[str, str], number: str) -> Iterator[tuple[str, str]]:
    address = normalise_address(row.get("pci.bus_id", row.get("gpu_bus_id", "")))
    index = row.get("index", "")
    gpu = index if index.isdecimal() else address or number
    if index and not index.isdecimal():
        return
    for name, value in row.items():
        what, reason = FACT_BY_COLUMN.get(name), _CLOCK_REASON.fullmatch(name)
        if reason is not None and reason["reason"] != "supported":
            yield f"clock reason:{gpu}/{reason['reason']}", value
        elif what == "driver":
            yield what, value
        elif what is not None and what != "index":
            answer = _ANSWERS.get(value, value) if what in _FLAGS else value
            yield f"{what}:{gpu}", f"{value} {_UNIT_BY_FACT[what]}" if what in _UNIT_BY_FACT and value.isdecimal() else answer


READER = Reader(_NAME, blocks=_statements)
