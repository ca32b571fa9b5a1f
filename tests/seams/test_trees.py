"""Trees look like Linux: same names, same formats, links that lead somewhere."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.seams import DriverLibraries, Nvml, PciCard, Tree, seen_by_child, without_mknod

MachineTree = Callable[..., Path]
EIGHT = tuple(PciCard.of(card) for card in Nvml(gpus=8).cards)
FORMATS = {
    "vendor": r"0x[0-9a-f]{4}\n", "device": r"0x[0-9a-f]{4}\n", "subsystem_vendor": r"0x[0-9a-f]{4}\n", "subsystem_device": r"0x[0-9a-f]{4}\n",
    "class": r"0x[0-9a-f]{6}\n", "revision": r"0x[0-9a-f]{2}\n", "numa_node": r"-?\d+\n", "enable": r"\d+\n", "modalias": r"pci:v[0-9A-F]{8}d[0-9A-F]{8}.*\n",
    "current_link_speed": r"([\d.]+ GT/s( PCIe)?|Unknown)\n", "current_link_width": r"\d+\n", "max_link_speed": r"([\d.]+ GT/s( PCIe)?|Unknown)\n",
    "max_link_width": r"\d+\n",
}  # fmt: skip


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def assert_formats(device: Path) -> None:
    for name in FORMATS.keys() & names(device):
        assert re.fullmatch(FORMATS[name], (device / name).read_text()), (device, name)
    identity = int((device / "vendor").read_text(), 16) | int((device / "device").read_text(), 16) << 16
    assert (device / "config").read_bytes()[:4] in {identity.to_bytes(4, "little"), b"\xff" * 4}


def test_formats_are_those_of_this_machine(machine_tree: MachineTree) -> None:
    real = sorted(Path("/sys/bus/pci/devices").glob("*"))
    for device in [*real, *sorted((machine_tree(pci=EIGHT) / "sys/bus/pci/devices").iterdir())]:
        assert_formats(device)
        assert device.is_symlink()
    if real:
        ours = {name for name, _ in PciCard(link_gen=None).files()}
        assert ours <= names(real[0])


def test_eight_bound_cards(machine_tree: MachineTree) -> None:
    root = machine_tree(pci=EIGHT, kernel_driver="550.163.01")
    devices = sorted((root / "sys/bus/pci/devices").iterdir())
    assert [device.name for device in devices] == [f"0000:{bus:02x}:00.0" for bus in range(7, 64, 8)]
    for minor, device in enumerate(devices):
        assert (device / "driver").resolve() == root.resolve() / "sys/bus/pci/drivers/nvidia"
        assert (root / "sys/bus/pci/drivers/nvidia" / device.name).resolve() == device.resolve()
        assert f"Device Minor: \t {minor}\n" in (root / f"proc/driver/nvidia/gpus/{device.name}/information").read_text()
    assert (devices[0] / "device").read_text() == "0x20b2\n"
    assert (devices[0] / "subsystem_device").read_text() == "0x147f\n"
    assert "Kernel Module  550.163.01  " in (root / "proc/driver/nvidia/version").read_text()
    assert (root / "sys/module/nvidia/version").read_text() == "550.163.01\n"
    assert names(root / "dev") == {*(f"nvidia{minor}" for minor in range(8)), "nvidia-uvm", "nvidia-uvm-tools", "nvidiactl"}


def test_a_card_without_driver(machine_tree: MachineTree) -> None:
    root = machine_tree(pci=[PciCard(driver=None)], modules=["nouveau"], secure_boot=True)
    assert not (root / "sys/bus/pci/devices/0000:07:00.0/driver").exists()
    assert not (root / "proc/driver/nvidia").exists()
    assert names(root / "dev") == set()
    assert (root / "sys/module/nouveau/initstate").read_text() == "live\n"
    assert (root / "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c").read_bytes()[-1] == 1


def test_a_lost_card(machine_tree: MachineTree) -> None:
    device = machine_tree(pci=[PciCard(lost=True)], kernel_driver="550.163.01") / "sys/bus/pci/devices/0000:07:00.0"
    assert (device / "current_link_speed").read_text() == "Unknown\n"
    assert (device / "config").read_bytes() == b"\xff" * 256


@pytest.mark.parametrize("container", ["docker", "docker-cgroup-v1", "podman", "kubernetes", "lxc", "apptainer", None])
def test_containers(machine_tree: MachineTree, container: str | None) -> None:
    root = machine_tree(container=container)
    assert (root / ".dockerenv").exists() is (container or "").startswith("docker")
    assert (root / "run/.containerenv").exists() is (container == "podman")
    assert ("kubepods" in (root / "proc/self/cgroup").read_text()) is (container == "kubernetes")


def test_platforms(tmp_path: Path) -> None:
    wsl = Tree(platform="wsl").build(tmp_path / "wsl")
    assert "microsoft" in (wsl / "proc/sys/kernel/osrelease").read_text()
    assert names(wsl / "dev") == {"dxg"}
    assert (Tree(platform="jetson").build(tmp_path / "jetson") / "etc/nv_tegra_release").exists()
    assert (Tree().build(tmp_path / "linux") / "sys/class/dmi/id/sys_vendor").read_text() == "Supermicro\n"


def test_files_replace_and_remove(machine_tree: MachineTree) -> None:
    root = machine_tree(
        kernel_driver="550.163.01", files={"sys/module/nvidia/version": "535.1\n", "proc/driver/nvidia/version": None, "etc/x": b"\xff"}
    )
    assert (root / "sys/module/nvidia/version").read_text() == "535.1\n"
    assert not (root / "proc/driver/nvidia/version").exists()
    assert (root / "etc/x").read_bytes() == b"\xff"


def test_nodes_and_their_modes(machine_tree: MachineTree) -> None:
    root = machine_tree(nodes=("nvidia0", "nvidiactl"), node_mode=0o600)
    assert {node.name: stat.S_IMODE(node.stat().st_mode) for node in (root / "dev").iterdir()} == {"nvidia0": 0o600, "nvidiactl": 0o600}


def test_character_nodes(machine_tree: MachineTree) -> None:
    root = machine_tree(pci=EIGHT[:2], kernel_driver="550.163.01", char_nodes=True)
    numbers = {node.name: node.stat().st_rdev for node in (root / "dev").iterdir() if stat.S_ISCHR(node.stat().st_mode)}
    assert numbers["nvidia1"] == os.makedev(195, 1)
    assert numbers["nvidiactl"] == os.makedev(195, 255)


LOOK = """
import os, pathlib
devices = "/sys/bus/pci/devices"
for name in sorted(os.listdir(devices)):
    print(name, open(f"{devices}/{name}/vendor").read().strip(), os.path.basename(os.readlink(f"{devices}/{name}/driver")),
          os.path.realpath(f"{devices}/{name}"), pathlib.Path(devices, name, "current_link_width").read_text().strip())
print([entry.name for entry in os.scandir("/sys/module")], os.path.exists("/.dockerenv"), os.path.exists("/dev/nvidia0"), os.access("/dev/nvidia1", os.R_OK))
print(os.path.exists("/etc/passwd"), open("/proc/self/cgroup").read(), end="")
"""


def test_a_whole_program_sees_the_tree(machine_tree: MachineTree) -> None:
    root = machine_tree(pci=EIGHT[:1], kernel_driver="550.163.01", uvm=False, container="docker")
    done = subprocess.run([sys.executable, "-c", LOOK], env=seen_by_child(root), capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == [
        "0000:07:00.0 0x10de nvidia /sys/devices/pci0000:00/0000:07:00.0 16",
        "['nvidia'] True True False",
        "True 0::/",
    ]


@pytest.mark.debian
def test_the_tree_with_the_real_libraries(machine_tree: MachineTree, driver_libraries: Callable[[str], DriverLibraries]) -> None:
    root = machine_tree(pci=EIGHT[:1], kernel_driver="999.12.34")
    library = driver_libraries("550")
    environment = seen_by_child(root, library.environ(kernel_driver="999.12.34"))
    command = without_mknod(
        [sys.executable, "-c", "print(open('/proc/driver/nvidia/version').readline()); import pynvml; pynvml.nvmlInit()"]
    )
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert "999.12.34" in done.stdout
    assert "NVMLError_LibRmVersionMismatch" in done.stderr
