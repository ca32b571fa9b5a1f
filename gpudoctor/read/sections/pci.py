"""The PCI bus that a text describes."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.snapshot import Cause, Missing, Pci, PciBar, PciDevice
from gpudoctor.status_codes import PciVendor

_UNIT_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DRIVER_ABSENT = Missing(Cause.ABSENT, "lspci names kernel modules, but no driver in use")


def stated_pci(stated: StatementIndex) -> Pci | Missing:
    """Return the GPUs of a list of PCI devices; not stated if it may have been cut before NVIDIA's, or nvidia-smi lists a GPU that it lacks."""
    devices = tuple(_pci_device(address, statement.value, stated) for address, statement in sorted(stated.all("pci:").items()))
    whole = stated.get("pci list") is not None and not stated.all("gpu:")
    return Pci(devices=devices) if whole or any(device.vendor == PciVendor.NVIDIA for device in devices) else NOT_STATED


def _pci_device(address: str, value: str, stated: StatementIndex) -> PciDevice:
    vendor, device, kind = value.split(" ")
    driver: str | Missing = stated.value(f"pci driver:{address}")
    if isinstance(driver, Missing) and stated.get(f"pci modules:{address}") is not None:
        driver = _DRIVER_ABSENT
    return PciDevice(
        address=address,
        vendor=vendor,
        device=device.replace("----", "0000"),
        class_code=f"{kind}00",
        driver=driver,
        name=stated.value(f"pci name:{address}"),
        answers=False if _is_off_bus(address, stated) else NOT_STATED,
        bars=_pci_bars(address, stated),
        **_link_fields(address, stated),
    )


def _is_off_bus(address: str, stated: StatementIndex) -> bool:
    """Return whether reads from a device return only ones. A laptop's GPU looks so while it is switched off."""
    name = stated.get(f"pci name:{address}")
    in_laptop = name is not None and re.search(r"(?i)mobile|laptop|max-?q|\dM\b", name.value) is not None
    return stated.get(f"pci revision:{address}") is not None and not in_laptop and stated.get("gpu switch") is None


def _link_fields(address: str, stated: StatementIndex) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, fact, read in (
        ("link_width", "pci width", int),
        ("link_width_max", "pci width max", int),
        ("link_speed", "pci speed", float),
        ("link_speed_max", "pci speed max", float),
    ):
        statement = stated.get(f"{fact}:{address}")
        found[field] = read(statement.value) if statement is not None else NOT_STATED
    return found


def _pci_bars(address: str, stated: StatementIndex) -> tuple[PciBar, ...] | Missing:
    bars = tuple(_pci_bar(int(number), statement.value) for number, statement in sorted(stated.all(f"pci region:{address}/").items()))
    return bars or NOT_STATED


def _pci_bar(number: int, value: str) -> PciBar:
    size = re.search(r"\[size=(\d{1,6})([KMG]?)\]", value)
    return PciBar(number=number, size=int(size[1]) * _UNIT_BYTES[size[2]] if size else 0, assigned="<unassigned>" not in value)
