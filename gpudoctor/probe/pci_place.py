"""A PCI device's location and its memory on the bus, from its folder in /sys."""

from __future__ import annotations

from typing import Any

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, PciBar

BARS = 6
"""A device's own base address registers; its ROM, virtual functions and bridges follow in the list."""
# linux/ioport.h
MEMORY, WIDE, UNSET = 0x200, 0x100000, 0x20000000


def place(folder: str) -> dict[str, Any]:
    """The fields of PciDevice on NUMA node, nearest CPUs and BARs."""
    return {
        "numa_node": _numa_node(f"{folder}/numa_node"),
        "cpus": files.word(f"{folder}/local_cpulist", 4096),
        "bars": _bars(f"{folder}/resource"),
    }


def _numa_node(path: str) -> int | Missing:
    text = files.read(path, 64)
    if isinstance(text, str) and text.strip() == "-1":
        return Missing(Cause.ABSENT, "the firmware assigns no NUMA node to this slot")
    return files.whole_number(text, path)


def _bars(path: str) -> tuple[PciBar, ...] | Missing:
    """The memory BARs, one line each with first address, last address and flags; a 64-bit one takes two lines."""
    text = files.read(path, 4096)
    if isinstance(text, Missing):
        return text
    found: list[PciBar] = []
    upper_half = False
    for number, line in enumerate(text.splitlines()[:BARS]):
        try:
            first, last, flags = (int(word, 16) for word in line.split())
        except ValueError:
            return Missing(Cause.FAILED, f"{path} has the line {line[:60]!r}")
        if flags & MEMORY and not upper_half:
            found.append(PciBar(number=number, size=last - first + 1, assigned=not flags & UNSET and first > 0))
        upper_half = not upper_half and bool(flags & WIDE)
    return tuple(found)
