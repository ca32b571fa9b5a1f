"""Machines whose driver is not loaded, and the kernel modules that they may have."""

from __future__ import annotations

from typing import Any

from gpudoctor.snapshot import Cause, KernelDriver, KernelModules, Missing, ModuleFile, Nvml, Pci, PciDevice, Snapshot, Status
from tests.builders import ABSENT, card, libcuda, machine

DENIED = Missing(Cause.DENIED, "only root may read it")
UNLOADED = KernelDriver(version=ABSENT, modules=(), gpus=ABSENT)
NOT_LOADED = Nvml(init=Status(9, "NVML_ERROR_DRIVER_NOT_LOADED", "Driver Not Loaded"), nvml_version="12.550.163.01", gpus=ABSENT)


def unloaded(modules: KernelModules, device: PciDevice | None = None, **sections: Any) -> Snapshot:
    """A GPU, libraries, and no loaded driver."""
    gpu = device or card(0, driver=ABSENT)
    whole = {"pci": Pci((gpu,)), "kernel_driver": UNLOADED, "nvml": NOT_LOADED, "libcuda": libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")}
    return machine(1, kernel_modules=modules, device_nodes=ABSENT, **{**whole, **sections})


def signed(*, signature: bool | None, **facts: Any) -> KernelModules:
    """An installed module with or without a signature; None where that is not known."""
    state = Missing(Cause.UNSUPPORTED, "the file is compressed") if signature is None else signature
    return KernelModules(installed=(ModuleFile("nvidia", "/lib/modules/6.1/nvidia.ko", state),), **{"blocked": (), "dkms": (), **facts})
