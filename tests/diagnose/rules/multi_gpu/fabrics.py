"""Servers whose eight GPUs are attached to an NVLink fabric, for tests of single rules."""

from __future__ import annotations

from typing import Any

from gpudoctor.snapshot import Fabric, FabricManager, FabricParts, Fact, Pci, PciDevice, Snapshot
from tests.builders import card, libcuda
from tests.diagnose.rules.asking import with_gpus

SWITCH = PciDevice(address="0000:90:00.0", vendor="10de", device="1af1", class_code="068000")
WAITING = Fabric("in-progress", 0, 0)
REGISTERED = Fabric("completed", 0, 0, health=0b01_10_10_10_10)
RUNNING = FabricManager(running=True, version=Fact("550.163.01", "dpkg"))
STOPPED = FabricManager(running=False, version=Fact("550.163.01", "dpkg"))


def server(fabric: Fabric = WAITING, *, gpus: int = 8, switched: bool = True, **changes: Any) -> Snapshot:
    """GPUs in a state of registration; CUDA waits for the fabric unless they are registered."""
    pci = Pci((*(card(number) for number in range(gpus)), *((SWITCH,) if switched else ())))
    waits = libcuda(0, 802, "CUDA_ERROR_SYSTEM_NOT_READY")
    sections = {"pci": pci, "libcuda": libcuda(gpus) if fabric is REGISTERED else waits, "fabric_parts": FabricParts(), **changes}
    return with_gpus(*({"fabric": fabric, "nvlink_version": "3.0"} for _ in range(gpus)), **sections)
