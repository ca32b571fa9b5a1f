from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.probe.fabric import fabric_manager, fabric_parts, has_fabric_gpu, has_nvswitch
from gpudoctor.probe.kernel_driver import kernel_driver
from gpudoctor.probe.kernel_side import amd_gpus, stuck_processes
from gpudoctor.probe.pci import pci
from gpudoctor.snapshot import (
    Amd,
    Cause,
    Container,
    Fabric,
    FabricManager,
    FabricParts,
    Fact,
    KernelDriver,
    Major,
    Missing,
    Nvml,
    NvmlGpu,
    Pci,
    StuckProcess,
)
from tests.machines.recipes.kernel import FABRIC_UNIT, RUNNING, SWITCH, TPU, logged
from tests.probe.places import plant
from tests.seams import PciCard, Tree

SWITCHED = Tree(pci=[PciCard(), SWITCH])
ABSENT = Missing(Cause.ABSENT, "no container")


class TestFabricManager:
    def look(self, tmp_path: Path, files: dict[str, str], container: Container | Missing = ABSENT) -> FabricManager | Missing:
        root = plant(SWITCHED.build(tmp_path), files)
        return fabric_manager(root, container)

    def test_is_examined_if_the_bus_has_a_switch(self, tmp_path: Path) -> None:
        assert has_nvswitch(pci(str(SWITCHED.build(tmp_path / "with"))))
        assert not has_nvswitch(pci(str(Tree(pci=[PciCard()]).build(tmp_path / "without"))))

    def test_is_examined_if_nvml_reports_a_gpu_on_a_fabric(self) -> None:
        for state, expected in (("not-supported", False), ("not-started", True), ("in-progress", True), ("completed", True)):
            assert has_fabric_gpu(Nvml(gpus=(NvmlGpu(0), NvmlGpu(1, fabric=Fabric(state, 0, 0))))) is expected
        assert not has_fabric_gpu(ABSENT)

    def test_not_installed(self, tmp_path: Path) -> None:
        found = self.look(tmp_path, {})
        assert isinstance(found, Missing)
        assert found.cause is Cause.ABSENT

    def test_installed_and_stopped(self, tmp_path: Path) -> None:
        found = self.look(tmp_path, {**FABRIC_UNIT, "proc/77/comm": "bash\n"})
        assert isinstance(found, FabricManager)
        assert (found.running, found.enabled) == (False, False)

    @pytest.mark.parametrize("files", [RUNNING, {**FABRIC_UNIT, "proc/1044/comm": "nv-fabricmanage\n"}])
    def test_running(self, tmp_path: Path, files: dict[str, str]) -> None:
        found = self.look(tmp_path, files)
        assert isinstance(found, FabricManager)
        assert found.running is True

    def test_its_version_and_its_last_error(self, tmp_path: Path) -> None:
        found = self.look(tmp_path, {**RUNNING, **logged("550.54.15", "failed to find a switch", "setting up")})
        assert isinstance(found, FabricManager)
        assert found.version == Fact("550.54.15", "/var/log/fabricmanager.log")
        assert isinstance(found.complaint, str)
        assert found.complaint.endswith("failed to find a switch")

    def test_the_version_comes_from_the_package_without_a_log(self, tmp_path: Path) -> None:
        status = "Package: bash\nVersion: 5.2\n\nPackage: nvidia-fabricmanager-550\nStatus: install ok installed\nVersion: 550.163.01-1\n\nPackage: zlib\n"
        found = self.look(tmp_path, {**FABRIC_UNIT, "var/lib/dpkg/status": status})
        assert isinstance(found, FabricManager)
        assert found.version == Fact("550.163.01", "/var/lib/dpkg/status")

    def test_a_container_does_not_show_the_hosts_services(self, tmp_path: Path) -> None:
        found = self.look(tmp_path, {}, Container("docker", "/.dockerenv"))
        assert isinstance(found, Missing)
        assert found.cause is Cause.NOT_ASKED


def test_what_else_nvlink_5_needs(tmp_path: Path) -> None:
    bare = fabric_parts(str(SWITCHED.build(tmp_path / "bare")), ABSENT)
    assert isinstance(bare, FabricParts)
    assert isinstance(bare.nvlsm, Missing)
    assert (bare.nvlsm_running, bare.umad, bare.imex_running) == (False, False, False)
    root = plant(
        SWITCHED.build(tmp_path / "whole"),
        {
            "opt/nvidia/nvlsm/sbin/nvlsm": "",
            "proc/9/comm": "nvlsm\n",
            "sys/class/infiniband_mad/abi_version": "5\n",
            "sys/class/infiniband/mlx5_4/node_type": "1: CA\n",
            "usr/lib/systemd/system/nvidia-imex.service": "[Unit]\n",
            "sys/fs/cgroup/system.slice/nvidia-imex.service/cgroup.procs": "10\n",
            "dev/nvidia-caps-imex-channels/channel0": "",
        },
    )
    whole = fabric_parts(root, ABSENT)
    assert isinstance(whole, FabricParts)
    assert (whole.nvlsm, whole.nvlsm_running, whole.umad) == ("/opt/nvidia/nvlsm/sbin/nvlsm", True, True)
    assert (whole.infiniband, whole.imex_running, whole.imex_channels) == (("mlx5_4",), True, ("channel0",))
    assert isinstance(fabric_parts(root, Container("docker", "/.dockerenv")), Missing)


def test_amd_targets(tmp_path: Path) -> None:
    numbers = (0, 90010, 100300, 110501)
    nodes = {
        f"sys/class/kfd/kfd/topology/nodes/{n}/properties": f"simd_count 8\ngfx_target_version {number}\n"
        for n, number in enumerate(numbers)
    }
    assert amd_gpus(plant(tmp_path, nodes)) == (Amd("gfx90a"), Amd("gfx1030"), Amd("gfx1151"))


def test_no_amd_driver(tmp_path: Path) -> None:
    assert isinstance(amd_gpus(str(tmp_path)), Missing)


def test_processes_in_state_d(tmp_path: Path) -> None:
    files = {
        "proc/7/stat": "7 (nvidia-smi (x) S) D 1 7 7 0\n",
        "proc/7/wchan": "rwsem_down_write_slowpath",
        "proc/8/stat": "8 (bash) S 1 8 8 0\n",
        "proc/9/stat": "9 (python3) D 1 9 9 0\n",
        "proc/9/wchan": "0",
        "proc/self/stat": "7 (me) D 1\n",
    }
    found = stuck_processes(plant(tmp_path, files))
    assert isinstance(found, tuple)
    first, second = found
    assert first == StuckProcess(7, "nvidia-smi (x) S", "rwsem_down_write_slowpath")
    assert (second.pid, isinstance(second.waits_in, Missing)) == (9, True)


def test_majors_firmware_and_exclusion(tmp_path: Path) -> None:
    root = Tree(pci=[PciCard()], kernel_driver="550.163.01").build(tmp_path)
    information = root / "proc/driver/nvidia/gpus/0000:07:00.0/information"
    information.write_text(information.read_text().replace("GPU Excluded:\t No", "GPU Firmware: \t 550.163.01\nGPU Excluded:\t Yes"))
    found = kernel_driver(str(root))
    assert isinstance(found, KernelDriver)
    assert found.majors == (Major("nvidia", 195), Major("nvidiactl", 195), Major("nvidia-uvm", 507))
    assert isinstance(found.gpus, tuple)
    assert (found.gpus[0].firmware, found.gpus[0].excluded) == ("550.163.01", True)


def test_accelerators_of_other_vendors_are_listed(tmp_path: Path) -> None:
    network = PciCard(address="0000:00:06.0", vendor=0x1AE0, device=0x0042, pci_class=0x020000, driver="gve")
    gaudi = PciCard(address="0000:00:07.0", vendor=0x1DA3, device=0x1020, pci_class=0x120000, driver="habanalabs")
    found = pci(str(Tree(pci=[TPU, network, gaudi]).build(tmp_path)))
    assert isinstance(found, Pci)
    assert [device.vendor for device in found.devices] == ["1ae0", "1da3"]


def test_state_and_error_counters_of_nvidia_devices(tmp_path: Path) -> None:
    root = Tree(pci=[PciCard()]).build(tmp_path)
    place = root / "sys/bus/pci/devices/0000:07:00.0"
    (place / "power").mkdir()
    (place / "power/runtime_status").write_text("suspended\n")
    (place / "power_state").write_text("D3cold\n")
    (place / "aer_dev_fatal").write_text("Undefined 0\nDLP 2\nTOTAL_ERR_FATAL 2\n")
    found = pci(str(root))
    assert isinstance(found, Pci)
    (card,) = found.devices
    assert (card.power_state, card.runtime_status, card.aer_fatal) == ("D3cold", "suspended", 2)
    assert isinstance(card.aer_nonfatal, Missing)
