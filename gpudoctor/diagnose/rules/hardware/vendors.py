"""GPUs of other vendors on the PCI bus, and frameworks built for them."""

from gpudoctor.derive import MachineView
from gpudoctor.snapshot import PciDevice
from gpudoctor.status_codes import PciVendor

VENDORS = {
    PciVendor.AMD: "AMD",
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


def device_label(device: PciDevice) -> str:
    """Return the vendor and PCI id of a device that is not NVIDIA's."""
    return f"{VENDORS.get(device.vendor, 'vendor')} {device.vendor}:{device.device}"


def driver_name(device: PciDevice) -> str:
    """Return the kernel driver bound to a device, or why there is none."""
    return device.driver if isinstance(device.driver, str) else f"none ({device.driver.reason})"


def amd_gpus(machine: MachineView) -> tuple[PciDevice, ...]:
    """Return AMD's GPUs; empty if there is an NVIDIA GPU, since they then only drive the display."""
    devices = machine.pci_devices
    if any(device.is_nvidia_gpu for device in devices):
        return ()
    return tuple(device for device in devices if device.vendor == PciVendor.AMD)


def rocm_frameworks(machine: MachineView) -> str:
    """Return the names of the frameworks that are ROCm builds; empty where none is."""
    return ", ".join(framework.name for framework in machine.frameworks if framework.observed.rocm_build is True)
