"""The display devices, accelerators and NVIDIA bridges on the PCI bus, from /sys/bus/pci/devices."""

from __future__ import annotations

import math
import os
from typing import Any

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, Pci, PciBar, PciDevice, normalise_address
from gpudoctor.status_codes import LINK_WIDTHS, PciClass, PciVendor

DEVICES_FOLDER = "/sys/bus/pci/devices"
TPU_IDS = ("0027", "0056", "005e", "0062", "0063", "006f", "0076")
"""Google's TPUs, which have no standard class, from the list in jax/_src/hardware_utils.py."""
LOST_WIDTHS = (63, 255)
"""A width of all ones: the device no longer answers on the bus."""

ALL_ONES = b"\xff" * 4
"""What the bus returns if no device answers."""
MAX_BARS = 6
"""A device's own base address registers; its ROM, virtual functions and bridges follow in the list."""
# linux/ioport.h
MEMORY_FLAG, WIDE_FLAG, UNSET_FLAG = 0x200, 0x100000, 0x20000000


def pci(root: str) -> Pci | Missing:
    """Display and compute devices of any vendor, and NVIDIA's switches, by address."""
    folder = files.path_in_tree(root, DEVICES_FOLDER)
    addresses = files.list_folder(folder)
    if isinstance(addresses, Missing):
        return addresses
    devices, unseen = [], None
    for name in addresses:
        class_code = _hexadecimal_code(f"{folder}/{name}", "class")
        if isinstance(class_code, Missing):
            unseen = class_code
            continue
        found = _pci_device(folder, name, class_code.rjust(6, "0"))
        if found is not None:
            devices.append(found)
    if unseen is not None and not devices and unseen.cause is not Cause.ABSENT:
        return unseen
    return Pci(devices=tuple(devices))


def _pci_device(folder: str, name: str, class_code: str) -> PciDevice | None:
    place = f"{folder}/{name}"
    vendor, device, address = _hexadecimal_code(place, "vendor"), _hexadecimal_code(place, "device"), normalise_address(name)
    if address is None or isinstance(vendor, Missing) or isinstance(device, Missing):
        return None
    own = (vendor == PciVendor.NVIDIA and class_code.startswith(PciClass.BRIDGE)) or (vendor == PciVendor.GOOGLE and device in TPU_IDS)
    if not class_code.startswith((PciClass.DISPLAY, PciClass.ACCELERATOR)) and not own:
        return None
    more = _device_state(place) if vendor == PciVendor.NVIDIA else {}
    return PciDevice(
        address=address,
        vendor=vendor,
        device=device,
        class_code=class_code,
        driver=_bound_driver(place),
        link_width=_link_width(place, "current_link_width"),
        link_width_max=_link_width(place, "max_link_width"),
        link_speed=_link_speed(place, "current_link_speed"),
        link_speed_max=_link_speed(place, "max_link_speed"),
        **more,
    )


def _device_state(place: str) -> dict[str, Any]:
    """Whether the device is awake, its PCIe error counts (AER), its IOMMU group's type, and its place."""
    return {
        "power_state": files.read_word(f"{place}/power_state"),
        "runtime_status": files.read_word(f"{place}/power/runtime_status"),
        "aer_fatal": _total_errors(f"{place}/aer_dev_fatal", "TOTAL_ERR_FATAL"),
        "aer_nonfatal": _total_errors(f"{place}/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
        "iommu": files.read_word(f"{place}/iommu_group/type"),
        "answers": _is_answering(place),
        **place_on_bus(place),
    }


def _is_answering(place: str) -> bool | Missing:
    """Whether the configuration space starts with anything but ones. Sleeping devices are skipped: a read would wake them."""
    if files.read_word(f"{place}/power/runtime_status") == "suspended":
        return Missing(Cause.NOT_ASKED, "the device is in a sleep state")
    head = files.read_bytes(f"{place}/config", limit=len(ALL_ONES))
    if isinstance(head, Missing):
        return head
    return head != ALL_ONES if len(head) == len(ALL_ONES) else Missing(Cause.FAILED, f"{place}/config is truncated")


def _total_errors(path: str, name: str) -> int | Missing:
    text = files.read_text(path, limit=4096)
    if isinstance(text, Missing):
        return text
    rows = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    return files.parse_number(rows.get(name, ""), path)


def _hexadecimal_code(place: str, name: str) -> str | Missing:
    """A number as at least four hexadecimal digits."""
    number = files.read_number(f"{place}/{name}", base=16)
    return number if isinstance(number, Missing) else f"{number:04x}"


def _bound_driver(place: str) -> str | Missing:
    try:
        return os.path.basename(os.readlink(f"{place}/driver"))
    except FileNotFoundError:
        return Missing(Cause.ABSENT, "no kernel driver is bound to the device")
    except OSError as error:
        return files.missing_file(f"{place}/driver", error)


def _link_width(place: str, name: str) -> int | Missing:
    width = files.read_number(f"{place}/{name}")
    if isinstance(width, Missing) or width in LINK_WIDTHS:
        return width
    if width in LOST_WIDTHS:
        return Missing(Cause.LOST, f"{name} is {width}, all ones: the device does not answer on the bus")
    return Missing(Cause.FAILED, f"{name} is {width}, which is not a valid link width")


def _link_speed(place: str, name: str) -> float | Missing:
    """The transfer rate in "16.0 GT/s PCIe"."""
    text = files.read_text(f"{place}/{name}", limit=4096)
    if isinstance(text, Missing):
        return text
    try:
        speed = float(text.split(" ")[0])
    except ValueError:
        speed = math.nan
    if 0 <= speed < math.inf:
        return speed
    return Missing(Cause.UNSUPPORTED, f"{name} is {text.strip()[:40]!r}")


def place_on_bus(folder: str) -> dict[str, Any]:
    """The fields of PciDevice on NUMA node, nearest CPUs and BARs."""
    return {
        "numa_node": _numa_node(f"{folder}/numa_node"),
        "cpus": files.read_word(f"{folder}/local_cpulist"),
        "bars": _memory_bars(f"{folder}/resource"),
    }


def _numa_node(path: str) -> int | Missing:
    text = files.read_text(path, limit=64)
    if isinstance(text, str) and text.strip() == "-1":
        return Missing(Cause.ABSENT, "the firmware assigns no NUMA node to this slot")
    return files.parse_number(text, path)


def _memory_bars(path: str) -> tuple[PciBar, ...] | Missing:
    """The memory BARs, one line each with first address, last address and flags; a 64-bit one takes two lines."""
    text = files.read_text(path, limit=4096)
    if isinstance(text, Missing):
        return text
    found: list[PciBar] = []
    upper_half = False
    for number, line in enumerate(text.splitlines()[:MAX_BARS]):
        try:
            first, last, flags = (int(word, 16) for word in line.split())
        except ValueError:
            return Missing(Cause.FAILED, f"{path} has the line {line[:60]!r}")
        if flags & MEMORY_FLAG and not upper_half:
            found.append(PciBar(number=number, size=last - first + 1, assigned=not flags & UNSET_FLAG and first > 0))
        upper_half = not upper_half and bool(flags & WIDE_FLAG)
    return tuple(found)
