"""Reads `lspci`, also with -nn, -k and -vv: the display and 3D controllers on the PCI bus, https://man7.org/linux/man-pages/man8/lspci.8.html."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.snapshot import normalise_address

_NAME = "lspci"
_DEVICE_LINE = expression(
    r"^[\W\d]{0,12}?(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+(?P<kind>[A-Z3][\w /-]{3,40}?)(?: \[(?P<class>[0-9a-f]{4})\])?: "
    r"(?P<name>.{3,200}?)(?: \[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\])?(?: ?\(rev (?P<revision>[0-9a-f]{2})\))?(?: \(prog-if.{0,40})?$"
)
_DETAIL_LINE = expression(r"^\s*(?P<what>Kernel driver in use|Kernel modules|LnkCap|LnkSta|Region \d): ?\s*(?P<value>.{0,200})")
_UNNAMED_DEVICE = expression(r"\bDevice (?P<device>[0-9a-f]{4})$")
"""What lspci writes for a product that its list of names does not have yet."""
_DISPLAY_CLASSES = {"VGA compatible controller": "0300", "3D controller": "0302", "Display controller": "0380", "Bridge": "0680"}
_VENDOR_NUMBERS = {"nvidia": "10de", "advanced micro devices": "1002", "intel": "8086"}
_GPU_SWITCH_WORDS = expression(r"(?i)\b(?:bbswitch|bumblebee|optimus|prime-select|prime-run|vga_?switcheroo|envycontrol)\b")
"""What switches a laptop's GPU off: it then returns only ones, as a GPU that fell off the bus does."""
_WHOLE_LIST_KINDS = {"Host bridge", "ISA bridge"}
"""Devices that every PC has: a list with these was not cut to some kinds."""
_VIRTUAL_MACHINE_WORDS = expression(r"(?i)\b(?:qemu|virtio|red hat|amazon|vmware|hyper-v|google)\b")
"""Names of devices in virtual machines, which may have all devices on their first bus."""
_LSPCI_COMMAND = expression(r"(?:^|[$#>%`] ?)(?:sudo )?lspci\b(?P<options>[^|`\n]{0,40})(?P<filter>\|[^`\n]{0,120})?`?$")
_CUT_LINE = expression(r"^\W{0,4}(?:\.{3}|\u2026|snip)\W{0,4}$")
_FOR_NVIDIA = expression(r"(?i)\bnvidia\b|\b10de\b")
_FOR_DISPLAYS = expression(r"(?i)\bvga\b.{0,60}\b(?:3d|display)\b|\b(?:3d|display)\b.{0,60}\bvga\b")
_EMPTY_ANSWER = expression(r"(?i)^\W{0,3}(?:no (?:output|results?|entries)|nothing|empty|none|blank|returns nothing)\b")
_PROMPT_LINE = expression(r"^[\w.@~:/()\[\] -]{0,80}[$#%>] ?\S")


def _unwrapped_lines(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines; a device whose line is broken within its brackets has the rest on the next."""
    for line, after in itertools.zip_longest(lines, lines[1:]):
        is_open = ":" in line.text[:24] and line.text.rfind("[") > line.text.rfind("]")
        yield msgspec.structs.replace(line, text=f"{line.text} {after.text.strip()}") if is_open and after and "]" in after.text else line


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    current = ""
    devices: list[re.Match[str]] = []
    last, silent = 0, False
    for line in _unwrapped_lines(lines):
        device = _DEVICE_LINE.match(line.text) if ":" in line.text[:24] else None
        if device is not None:
            devices.append(device)
            last = line.number
            silent = silent or device["revision"] == "ff"
            current = (normalise_address(device["address"]) or "") if _is_gpu(device) else ""
            facts = _device_facts(current, device) if current else ()
            rank = Directness.TOOL if device["device"] else Directness.LISTING  # another list may have the number
        elif current:
            facts, rank = _detail_facts(current, _DETAIL_LINE.match(line.text)), Directness.TOOL
        else:
            continue
        yield from (Statement(what, value, _NAME, line.number, rank) for what, value in facts)
    switch = next((line for line in lines if _GPU_SWITCH_WORDS.search(line.text)), None) if silent else None
    if switch is not None:
        yield Statement("gpu switch", switch.text.strip()[:80], _NAME, switch.number, Directness.TOOL)
    whole = next(_answered_commands(lines), last if devices and _is_whole_list(devices, lines) else 0)
    if whole:
        yield Statement("pci list", "whole", _NAME, whole, Directness.TOOL)


def _is_whole_list(devices: Sequence[re.Match[str]], lines: Sequence[Line]) -> bool:
    """Return whether a list has what every PC has and was not cut before the GPUs, which come after the bridges of the first bus."""
    kinds = {device["kind"] for device in devices}
    if not kinds >= _WHOLE_LIST_KINDS or all("bridge" in kind or kind in _DISPLAY_CLASSES for kind in kinds):
        return False
    commands = (_LSPCI_COMMAND.search(line.text) for line in lines if "lspci" in line.text)
    if any(command and command["filter"] for command in commands) or any(_CUT_LINE.match(line.text) for line in lines):
        return False
    beyond_first_bus = any(not device["address"].rpartition(":")[0].endswith("00") for device in devices)
    return "PCI bridge" not in kinds or beyond_first_bus or any(_VIRTUAL_MACHINE_WORDS.search(device["name"]) for device in devices)


def _answered_commands(lines: Sequence[Line]) -> Iterator[int]:
    """Yield the lines of commands that asked for every GPU, of NVIDIA or of all vendors, and got an answer that may be empty."""
    for place, line in enumerate(lines):
        command = _LSPCI_COMMAND.search(line.text) if "lspci" in line.text else None
        if not command:
            continue
        answer = lines[place + 1].text if place + 1 < len(lines) else ""
        wanted = command["options"] + (command["filter"] or "")
        is_empty = _EMPTY_ANSWER.match(answer) or (_PROMPT_LINE.match(line.text) and _PROMPT_LINE.match(answer))
        if (_FOR_NVIDIA.search(wanted) and is_empty) or (_FOR_DISPLAYS.search(wanted) and _DEVICE_LINE.match(answer)):
            yield line.number


def _is_gpu(device: re.Match[str]) -> bool:
    return device["kind"] in _DISPLAY_CLASSES and (device["kind"] != "Bridge" or "nvidia" in device["name"].lower())


def _device_facts(address: str, device: re.Match[str]) -> Iterator[tuple[str, str]]:
    vendor = device["vendor"] or next((number for word, number in _VENDOR_NUMBERS.items() if word in device["name"].lower()), "")
    product = re.findall(r"\[([^\]]{3,80})\]", device["name"])
    unnamed = _UNNAMED_DEVICE.search(device["name"])
    number = device["device"] or (unnamed["device"] if unnamed else "----")
    if vendor:
        yield f"pci:{address}", f"{vendor} {number} {device['class'] or _DISPLAY_CLASSES[device['kind']]}"
    if product and vendor == _VENDOR_NUMBERS["nvidia"]:
        yield f"pci name:{address}", product[-1]
    if device["revision"] == "ff":
        yield f"pci revision:{address}", "ff"


def _detail_facts(address: str, detail: re.Match[str] | None) -> Iterator[tuple[str, str]]:
    if detail is None:
        return
    what, value = detail["what"], detail["value"].strip()
    if what == "Kernel driver in use":
        yield f"pci driver:{address}", value
    elif what == "Kernel modules":
        yield f"pci modules:{address}", value
    elif what in ("LnkCap", "LnkSta"):
        yield from _link_facts(address, what, value)
    elif what.startswith("Region") and "Memory at" in value and "[size=" in value:
        yield f"pci region:{address}/{what[-1]}", value


def _link_facts(address: str, what: str, value: str) -> Iterator[tuple[str, str]]:
    link = re.search(r"Speed (?P<speed>[\d.]{1,5})GT/s.{0,40}?Width x(?P<width>\d{1,2})", value)
    limit = " max" if what == "LnkCap" else ""
    if link is not None:
        yield f"pci speed{limit}:{address}", link["speed"]
        yield f"pci width{limit}:{address}", link["width"]


READER = Reader(_NAME, blocks=_statements, cues=("lspci", " controller", "bridge", "rev ff"), of_kernel=True)
