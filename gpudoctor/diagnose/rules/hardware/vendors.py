"""GD1: GPUs of other vendors, and builds of frameworks that cannot use them."""

from __future__ import annotations

from gpudoctor.derive.gpus import is_gpu
from gpudoctor.snapshot import Missing, Pci, PciDevice, Snapshot

AMD = "1002"


VENDORS = {
    AMD: "AMD",
    "8086": "Intel",
    "1ae0": "Google (TPU)",
    "1da3": "Habana (Gaudi)",
    "1a03": "ASPEED",
    "1234": "QEMU",
    "15ad": "VMware",
    "1af4": "virtio",
    "1b36": "Red Hat",
    "1414": "Microsoft",
}
"""Vendors of display devices and accelerators, by PCI id, as the PCI ID repository names them."""


def called(device: PciDevice) -> str:
    """A device that is not NVIDIA's, for a person."""
    return f"{VENDORS.get(device.vendor, 'vendor')} {device.vendor}:{device.device}"


def built_for_amd(snapshot: Snapshot) -> str:
    """The frameworks that are ROCm builds; empty where none is."""
    frameworks = () if isinstance(snapshot.frameworks, Missing) else snapshot.frameworks
    return ", ".join(one.name for one in frameworks if one.rocm_build is True)


def amd_gpus(pci: Pci) -> list[PciDevice]:
    """AMD's GPUs, where none is NVIDIA's: beside one of those they only drive the display."""
    if any(is_gpu(device) for device in pci.devices):
        return []
    return [device for device in pci.devices if device.vendor == AMD]
