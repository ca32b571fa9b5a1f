"""Reads `lspci`, also with -nn, -k and -vv: the display and 3D controllers on the PCI bus, https://man7.org/linux/man-pages/man8/lspci.8.html."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Line, Rank, Statement
from gpudoctor.snapshot import normalise_address

_NAME = "lspci"
_DEVICE = expression(
    r"^[\W\d]{0,12}?(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+(?P<kind>[A-Z3][\w /-]{3,40}?)(?: \[(?P<class>[0-9a-f]{4})\])?: "
    r"(?P<name>.{3,200}?)(?: \[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\])?(?: ?\(rev (?P<revision>[0-9a-f]{2})\))?(?: \(prog-if.{0,40})?$"
)
_DETAIL = expression(r"^\s*(?P<what>Kernel driver in use|Kernel modules|LnkCap|LnkSta|Region \d): ?\s*(?P<value>.{0,200})")
_UNNAMED = expression(r"\bDevice (?P<device>[0-9a-f]{4})$")
"""What lspci writes for a product that its list of names does not have yet."""
_CLASSES = {"VGA compatible controller": "0300", "3D controller": "0302", "Display controller": "0380", "Bridge": "0680"}
_VENDORS = {"nvidia": "10de", "advanced micro devices": "1002", "intel": "8086"}
_SWITCH = expression(r"(?i)\b(?:bbswitch|bumblebee|optimus|prime-select|prime-run|vga_?switcheroo|envycontrol)\b")
"""What switches a laptop's GPU off: it then returns only ones, as a GPU that fell off the bus does."""
_KINDS_OF_A_WHOLE_LIST = ("Host bridge", "PCI bridge", "ISA bridge")
"""Devices that every PC has: a list with all of these was not cut to some devices."""


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    current = ""
    kinds: set[str] = set()
    last, silent = 0, False
    for line in lines:
        device = _DEVICE.match(line.text) if ":" in line.text[:24] else None
        if device is not None:
            kinds.add(device["kind"])
            last = line.number
            silent = silent or device["revision"] == "ff"
            current = (normalise_address(device["address"]) or "") if _is_gpu(device) else ""
            facts = _of_device(current, device) if current else ()
        elif current:
            facts = _of_detail(current, _DETAIL.match(line.text))
        else:
            continue
        yield from (Statement(what, value, _NAME, line.number, Rank.TOOL) for what, value in facts)
    switch = next((line for line in lines if _SWITCH.search(line.text)), None) if silent else None
    if switch is not None:
        yield Statement("gpu switch", switch.text.strip()[:80], _NAME, switch.number, Rank.TOOL)
    if kinds.issuperset(_KINDS_OF_A_WHOLE_LIST):
        yield Statement("pci list", "whole", _NAME, last, Rank.TOOL)


def _is_gpu(device: re.Match[str]) -> bool:
    return device["kind"] in _CLASSES and (device["kind"] != "Bridge" or "nvidia" in device["name"].lower())


def _of_device(address: str, device: re.Match[str]) -> Iterator[tuple[str, str]]:
    vendor = device["vendor"] or next((number for word, number in _VENDORS.items() if word in device["name"].lower()), "")
    product = re.findall(r"\[([^\]]{3,80})\]", device["name"])
    unnamed = _UNNAMED.search(device["name"])
    number = device["device"] or (unnamed["device"] if unnamed else "----")
    if vendor:
        yield f"pci:{address}", f"{vendor} {number} {device['class'] or _CLASSES[device['kind']]}"
    if product and vendor == _VENDORS["nvidia"]:
        yield f"pci name:{address}", product[-1]
    if device["revision"] == "ff":
        yield f"pci revision:{address}", "ff"


def _of_detail(address: str, detail: re.Match[str] | None) -> Iterator[tuple[str, str]]:
    if detail is None:
        return
    what, value = detail["what"], detail["value"].strip()
    if what == "Kernel driver in use":
        yield f"pci driver:{address}", value
    elif what == "Kernel modules":
        yield f"pci modules:{address}", value
    elif what in ("LnkCap", "LnkSta"):
        yield from _of_link(address, what, value)
    elif what.startswith("Region") and "Memory at" in value and "[size=" in value:
        yield f"pci region:{address}/{what[-1]}", value


def _of_link(address: str, what: str, value: str) -> Iterator[tuple[str, str]]:
    link = re.search(r"Speed (?P<speed>[\d.]{1,5})GT/s.{0,40}?Width x(?P<width>\d{1,2})", value)
    limit = " max" if what == "LnkCap" else ""
    if link is not None:
        yield f"pci speed{limit}:{address}", link["speed"]
        yield f"pci width{limit}:{address}", link["width"]


READER = Reader(_NAME, blocks=_blocks)
