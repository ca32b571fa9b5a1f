from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive.gpus import gpus_of_snapshot
from gpudoctor.derive.recovery import awaited_recovery
from gpudoctor.derive.site import site_of_snapshot
from gpudoctor.snapshot import Cause, DeviceNodes, Fact, Host, KernelDriver, Missing, Node, Nvml, Pci, Platform, Snapshot, Status
from tests.builders import ABSENT, SUCCESS, TIMED_OUT, bare, card, in_docker, libcuda, machine

NOT_LOADED = Nvml(init=Status(9, "DRIVER_NOT_LOADED", "Driver Not Loaded"))
UNLOADED: dict[str, Any] = {
    "kernel_driver": KernelDriver(version=ABSENT, modules=(), gpus=ABSENT),
    "device_nodes": ABSENT,
    "nvml": NOT_LOADED,
    "libcuda": libcuda(0, 100, "CUDA_ERROR_NO_DEVICE"),
}


def waits_for(snapshot: Snapshot) -> str:
    place = site_of_snapshot(snapshot)
    return awaited_recovery(snapshot, gpus_of_snapshot(snapshot, place), place)


def nodes(*paths: str, accessible: bool = True) -> DeviceNodes:
    return DeviceNodes(tuple(Node(path, accessible=accessible) for path in paths))


def nvml(code: int) -> Nvml:
    return Nvml(init=Status(code, "X", "x"))


ALL = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm")


@pytest.mark.parametrize(
    ("snapshot", "what"),
    [
        pytest.param(machine(1, **UNLOADED), "driver is not loaded yet", id="installed and not loaded"),
        pytest.param(machine(1, pci=Pci((card(0, driver=ABSENT),)), **UNLOADED), "driver is not loaded yet", id="nothing is bound"),
        pytest.param(machine(1, **{**UNLOADED, "nvml": ABSENT}), "driver is not loaded yet", id="only libcuda is installed"),
        pytest.param(machine(1, **{**UNLOADED, "libcuda": ABSENT}), "driver is not loaded yet", id="only NVML is installed"),
        pytest.param(machine(1, device_nodes=ABSENT, nvml=ABSENT, libcuda=ABSENT), "/dev/nvidiactl", id="loaded, no library"),
        pytest.param(machine(1, device_nodes=ABSENT), "/dev/nvidiactl", id="loaded, no device file"),
        pytest.param(machine(2, device_nodes=nodes(*ALL)), "/dev/nvidia1", id="one device file is missing"),
        pytest.param(machine(1, libcuda=libcuda(0, 999, "CUDA_ERROR_UNKNOWN")), "/dev/nvidia-uvm", id="no uvm and cuInit fails"),
        pytest.param(machine(1, device_nodes=nodes(*ALL), nvml=nvml(27)), "NVML is not ready", id="NVML is not ready"),
        pytest.param(machine(1, device_nodes=nodes(*ALL), libcuda=libcuda(0, 802, "X")), "fabric", id="802"),
        pytest.param(machine(1, container=in_docker(), libcuda=libcuda(0, 802, "X")), "fabric", id="802 in a container"),
    ],
)
def test_problems_that_recover_are_waited_for(snapshot: Snapshot, what: str) -> None:
    assert what in waits_for(snapshot)


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(machine(8), id="all is well, and uvm comes at first use"),
        pytest.param(bare(), id="no GPU"),
        pytest.param(machine(1, **{**UNLOADED, "nvml": ABSENT, "libcuda": ABSENT}), id="no driver is installed"),
        pytest.param(machine(1, pci=Pci((card(0, driver="nouveau"),)), **UNLOADED), id="nouveau has the GPU"),
        pytest.param(machine(1, pci=Pci((card(0, driver="vfio-pci"),)), **UNLOADED), id="a guest has the GPU"),
        pytest.param(
            machine(1, container=in_docker(), **{**UNLOADED, "kernel_driver": machine(1).kernel_driver}), id="a container's files"
        ),
        pytest.param(machine(1, device_nodes=nodes(*ALL, accessible=False), nvml=nvml(9)), id="files that may not be opened"),
        pytest.param(machine(1, device_nodes=TIMED_OUT), id="nobody could look for files"),
        pytest.param(machine(1, device_nodes=nodes(*ALL), libcuda=libcuda(0, 100, "X")), id="100 with all in place"),
        pytest.param(machine(1, nvml=nvml(18), libcuda=libcuda(0, 803, "X")), id="libraries of another version"),
        pytest.param(machine(1, nvml=TIMED_OUT, device_nodes=nodes(*ALL)), id="a driver that hangs"),
        pytest.param(machine(1, host=Host(platform=Platform.WSL2), device_nodes=ABSENT), id="WSL"),
    ],
)
def test_problems_that_stay_are_not_waited_for(snapshot: Snapshot) -> None:
    assert waits_for(snapshot) == ""


def test_hidden_gpus_are_no_reason_to_wait() -> None:
    hidden = machine(1, libcuda=libcuda(0, 100, "CUDA_ERROR_NO_DEVICE"), libcuda_unmasked=libcuda(1))
    assert waits_for(hidden) == ""
    assert "uvm" in waits_for(msgspec.structs.replace(hidden, libcuda_unmasked=Missing(Cause.NOT_ASKED, "no mask")))


def test_a_driver_without_a_version_exists() -> None:
    unsaid = KernelDriver(version=Missing(Cause.FAILED, "in an unknown form"))
    assert waits_for(machine(1, kernel_driver=unsaid, device_nodes=nodes(*ALL))) == ""
    assert waits_for(machine(1, nvml=Nvml(init=SUCCESS), kernel_driver=KernelDriver(version=Fact("1", "x")))) == ""
