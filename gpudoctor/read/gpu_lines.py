"""Keeps the lines of a machine's kernel log and of lspci that concern its GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from gpudoctor.expressions import expression

_GPU_WORDS = expression(
    r"(?i)nvidia|nvrm|\bnv[_-]|nvlink|nvswitch|nvgpu|tegra|nouveau|\bnova|amdgpu|radeon|\bi915\b|\bdxg|\bxid\b|\bdrm\b|\bgpus?\b|vga|bbswitch|\bvfio|\bpci(?:eport)? [0-9a-f]{4}:|\baer: |\bbar [0-6]\b"
    r"|linux version|command line|hypervisor|\bdmi: |warning: cpu|lockdown|secureboot|(?<!hci\d: )secure boot|efi: |\bmodule\b|pkcs#7|is rejected|rejected by|key not available"
    r"|out of memory|oom[-_]kill|killed process|segfault|general protection|traps: |blocked for more than|lockup|call trace|machine check|hardware error|mce: "
    r"|dmar: .{0,20}fault|amd-vi: event|io_page_fault|pm: (?:suspend|resume|hibernation) (?:entry|exit)|python|cuda|torch|tensorflow"
)
"""What the kernel logs about GPU drivers, the PCI bus, processes that it kills and itself."""
_NVIDIA_VENDOR = "10de"
_ADDRESS_FORM = r"(?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_KERNEL_DEVICE = expression(rf"\bpci {_ADDRESS_FORM}: (?:\[(?P<vendor>[0-9a-f]{{4}}):[0-9a-f]{{4}}\])?")
_LSPCI_DEVICE = expression(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [A-Z]")
_LINK_LINE = expression(r"\s*Lnk(?:Cap|Sta)\d?:")


def gpu_related_lines(lines: Sequence[str], by_kernel: Sequence[bool]) -> list[str]:
    """Return the lines. Those that do not concern a GPU are empty: most of the kernel's, and the links of other devices in lspci's output."""
    others = _addresses_of_other_vendors(list(compress(lines, by_kernel)))
    links = _are_links_of_others(lines)
    return [
        "" if link or (of_kernel and _is_unrelated(line, others)) else line
        for line, of_kernel, link in zip(lines, by_kernel, links, strict=True)
    ]


def _is_unrelated(line: str, others: set[str]) -> bool:
    device = _KERNEL_DEVICE.search(line) if others else None
    return _GPU_WORDS.search(line) is None or (device is not None and device["address"] in others)


def _addresses_of_other_vendors(lines: Sequence[str]) -> set[str]:
    """Return the PCI addresses of the devices of other vendors."""
    found = [device for line in lines if "pci " in line and (device := _KERNEL_DEVICE.search(line))]
    return {device["address"] for device in found if device["vendor"] not in {None, _NVIDIA_VENDOR}}


def _are_links_of_others(lines: Sequence[str]) -> Iterator[bool]:
    of_other = False
    for line in lines:
        if ":" in line[:8] and _LSPCI_DEVICE.match(line):
            of_other = "nvidia" not in line.lower() and f"[{_NVIDIA_VENDOR}:" not in line
        yield of_other and _LINK_LINE.match(line) is not None
