"""Builds a folder that looks like a machine's root to the probes: /proc, /sys, /dev and /etc in Linux's layout.

    root = Tree(pci=[PciCard(driver="nvidia")], kernel_driver="550.163.01", container="docker").build(tmp_path)

Device nodes are plain files unless `char_nodes`, which needs root and a file system that allows it.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tests.seams.build import SeamUnavailable, preloaded
from tests.seams.scenario import NvmlGpu

Content: TypeAlias = str | bytes

NVIDIA: Final = 0x10DE
CONTROL_MINOR: Final = 255
#: PCIe generation -> what the kernel writes into current_link_speed (drivers/pci/probe.c, pci_speed_string)
SPEEDS: Final = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}
CONTAINERS: Final[Mapping[str, Mapping[str, Content]]] = {
    "docker": {
        ".dockerenv": "",
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": "601 487 0:52 / / rw,relatime - overlay overlay rw\n",
    },
    "podman": {"run/.containerenv": 'engine="podman-4.9.4"\nname="t"\nrootless=1\n', "proc/self/cgroup": "0::/\n"},
    "kubernetes": {
        "proc/self/cgroup": "0::/kubepods.slice/kubepods-pod1f.slice/cri-containerd-9a.scope\n",
        "run/secrets/kubernetes.io/serviceaccount/namespace": "default\n",
    },
    "lxc": {"proc/1/environ": b"container=lxc\0", "proc/self/cgroup": "0::/lxc.payload.t\n", "run/systemd/container": "lxc\n"},
    "apptainer": {".singularity.d/labels.json": "{}\n", "proc/self/cgroup": "0::/user.slice\n"},
    "docker-cgroup-v1": {
        ".dockerenv": "",
        "proc/self/cgroup": "".join(f"{n}:{c}:/docker/{'4f' * 32}\n" for n, c in ((2, "devices"), (1, "cpu,cpuacct"))),
    },
}
DEBIAN: Final = (
    'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n'
)
FLAGS: Final = "flags\t\t: fpu sse4_1 sse4_2 avx f16c abm fma bmi1 avx2 bmi2\n\n"
"""Features in /proc/cpuinfo that frameworks use."""
DMI: Final = {
    "sys_vendor": "Supermicro",
    "product_name": "SYS-420GP-TNAR",
    "board_vendor": "Supermicro",
    "bios_vendor": "AMI",
    "chassis_type": "23",
}


@dataclass(frozen=True, kw_only=True)
class PciCard:
    """One PCI function; the defaults are an A100 at full link. `driver` is the kernel driver bound to it, None for none.

    `lost` is a card that has fallen off the bus: its configuration space reads as all ones and its link as unknown, as Linux then shows it.
    """

    address: str = "0000:07:00.0"
    vendor: int = NVIDIA
    device: int = 0x20B2
    subsystem: tuple[int, int] = (NVIDIA, 0x147F)
    pci_class: int = 0x030200
    driver: str | None = "nvidia"
    link_gen: tuple[int, int] | None = (4, 4)
    link_width: tuple[int, int] | None = (16, 16)
    numa_node: int = 0
    lost: bool = False
    iommu: str | None = None
    aer: tuple[int, int] | None = None
    """Fatal and non-fatal errors that advanced reporting counted."""
    bars: Mapping[int, tuple[int, bool]] = field(default_factory=lambda: {0: (16 << 20, True), 1: (128 << 30, True), 3: (32 << 20, True)})
    """Size and whether the kernel placed it, by number."""
    name: str = "NVIDIA A100-SXM4-80GB"
    uuid: str = "GPU-a1000000-1c2d-3e4f-5a6b-700000000000"

    @classmethod
    def of(cls, card: NvmlGpu) -> PciCard:
        """The slot of a card of an Nvml scenario (one of `Nvml(...).cards`)."""
        identity, subsystem = card.pci_device_id, card.pci_subsystem_id
        return cls(
            address=str(card.address)[4:].lower(), vendor=identity & 0xFFFF, device=identity >> 16, subsystem=(subsystem & 0xFFFF, subsystem >> 16),
            link_gen=card.pcie_gen, link_width=card.pcie_width, name=str(card.name), uuid=str(card.uuid),
        )  # fmt: skip

    @property
    def is_gpu(self) -> bool:
        return self.vendor == NVIDIA and self.pci_class >> 16 == 0x03

    def files(self) -> Iterator[tuple[str, Content | None]]:
        """The content of the device's folder in /sys."""
        yield "vendor", f"0x{self.vendor:04x}\n"
        yield "device", f"0x{self.device:04x}\n"
        yield "subsystem_vendor", f"0x{self.subsystem[0]:04x}\n"
        yield "subsystem_device", f"0x{self.subsystem[1]:04x}\n"
        yield "class", f"0x{self.pci_class:06x}\n"
        yield "revision", "0xa1\n"
        yield "numa_node", f"{self.numa_node}\n"
        yield "local_cpulist", f"{32 * max(self.numa_node, 0)}-{32 * max(self.numa_node, 0) + 31}\n"
        yield "resource", "".join(self._resources()) if self.is_gpu else None
        yield "enable", f"{int(self.driver is not None)}\n"
        yield "modalias", f"pci:v{self.vendor:08X}d{self.device:08X}\n"
        if self.iommu:
            yield "iommu_group/type", f"{self.iommu}\n"
        for kind, count in zip(("fatal", "nonfatal"), self.aer or (), strict=False):
            yield f"aer_dev_{kind}", f"Undefined 0\nDLP {count}\nTOTAL_ERR_{kind.upper()} {count}\n"
        header = struct.pack(
            "<HHHHBBBB", self.vendor, self.device, 0x0406, 0x0010, 0xA1, 0, self.pci_class >> 8 & 0xFF, self.pci_class >> 16
        )
        yield "config", b"\xff" * 256 if self.lost else header.ljust(256, b"\0")
        for which in (0, 1) if self.link_gen and self.link_width else ():
            prefix = ("current", "max")[which]
            yield f"{prefix}_link_speed", f"{'Unknown' if self.lost else SPEEDS[(self.link_gen or (0, 0))[which]]}\n"
            yield f"{prefix}_link_width", f"{63 if self.lost else (self.link_width or (0, 0))[which]}\n"

    def _resources(self) -> Iterator[str]:
        """As drivers/pci/pci-sysfs.c prints them: first and last address, flags; all but the first BAR are 64 bits wide and take two lines."""
        for number in range(6):
            size, assigned = self.bars.get(number, (0, True))
            flags = 0x40200 if number == 0 else 0x14220C
            first = 0x2000_0000_0000 + (number << 38) if assigned else 0
            numbers = (first, first + size - 1, flags | (0 if assigned else 0x20000000)) if size else (0, 0, 0)
            yield "0x{:016x} 0x{:016x} 0x{:016x}\n".format(*numbers)

    def information(self, minor: int) -> str:
        """/proc/driver/nvidia/gpus/ADDRESS/information, spaced as the open kernel module's nv-procfs.c does."""
        return (
            f"Model: \t\t {self.name}\nIRQ:   \t\t 129\nGPU UUID: \t {self.uuid}\nVideo BIOS: \t 92.00.9e.00.01\nBus Type: \t PCIe\n"
            f"DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t {self.address}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n"
        )


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A machine's root. `kernel_driver` is the version of the loaded NVIDIA kernel module (None: not loaded), `modules` are others (nouveau, vfio_pci).

    `nodes` are the names below /dev; None means those of a working driver, one for each bound GPU. `files` adds or replaces any path;
    a value of None removes it. `secure_boot` None is a machine without EFI. `environ` is PID 1's.
    """

    pci: Sequence[PciCard] = ()
    kernel_driver: str | None = None
    open_module: bool = False
    uvm: bool = True
    modules: Sequence[str] = ()
    nodes: Sequence[str] | None = None
    node_mode: int = 0o666
    char_nodes: bool = False
    container: str | None = None
    platform: Literal["linux", "wsl", "jetson"] = "linux"
    kernel: str = "6.1.0-37-amd64"
    os_release: str = DEBIAN
    dmi: Mapping[str, str] = field(default_factory=lambda: dict(DMI))
    secure_boot: bool | None = None
    files: Mapping[str, Content | None] = field(default_factory=dict)

    @property
    def _gpus(self) -> list[PciCard]:
        return [card for card in self.pci if card.is_gpu and card.driver == "nvidia"] if self.kernel_driver else []

    def _node_names(self) -> Sequence[str]:
        if self.nodes is not None:
            return self.nodes
        if self.platform == "wsl":
            return ("dxg",)
        if not self.kernel_driver:
            return ()
        return [
            *(f"nvidia{minor}" for minor in range(len(self._gpus))),
            "nvidiactl",
            *(("nvidia-uvm", "nvidia-uvm-tools") if self.uvm else ()),
        ]

    def _host(self) -> Iterator[tuple[str, Content]]:
        kernel = "5.15.167.4-microsoft-standard-WSL2" if self.platform == "wsl" else self.kernel
        yield "etc/os-release", self.os_release
        yield "proc/version", f"Linux version {kernel} (build@host) (gcc (GCC) 12.2.0, GNU ld 2.40) #1 SMP PREEMPT_DYNAMIC\n"
        yield "proc/sys/kernel/osrelease", f"{kernel}\n"
        yield "proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n"
        yield "proc/meminfo", "MemTotal:       1056612340 kB\nMemFree:        1000000000 kB\nMemAvailable:   1030000000 kB\n"
        yield "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7763 64-Core Processor\n" + FLAGS
        if self.platform == "wsl":
            yield "proc/sys/fs/binfmt_misc/WSLInterop", "enabled\n"
            yield "usr/lib/wsl/lib/libcuda.so.1", ""
        elif self.platform == "jetson":
            yield "etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n"
            yield "proc/device-tree/model", b"NVIDIA Jetson AGX Orin Developer Kit\0"
        else:
            yield from ((f"sys/devices/virtual/dmi/id/{key}", f"{value}\n") for key, value in self.dmi.items())
        if self.secure_boot is not None:
            yield "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", bytes([6, 0, 0, 0, self.secure_boot])
        yield from CONTAINERS[self.container].items() if self.container else ()

    def _driver(self) -> Iterator[tuple[str, Content]]:
        loaded = [*self.modules, *(("nvidia", *(("nvidia_uvm",) if self.uvm else ())) if self.kernel_driver else ())]
        for module in loaded:
            yield f"sys/module/{module}/initstate", "live\n"
            yield f"sys/module/{module}/refcnt", "1\n"
            if module.startswith("nvidia"):
                yield f"sys/module/{module}/version", f"{self.kernel_driver}\n"
        yield "proc/modules", "".join(f"{module} 16384 1 - Live 0x0000000000000000\n" for module in loaded)
        if self.kernel_driver:
            flavour = "Open Kernel Module for x86_64" if self.open_module else "x86_64 Kernel Module"
            built = "Release Build  (build@host)  Tue Apr  8 12:18:04 UTC 2025" if self.open_module else "Tue Apr  8 12:41:17 UTC 2025"
            yield (
                "proc/driver/nvidia/version",
                f"NVRM version: NVIDIA UNIX {flavour}  {self.kernel_driver}  {built}\nGCC version:  gcc version 12.2.0 \n",
            )
            yield "proc/driver/nvidia/params", "DeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nModifyDeviceFiles: 1\n"
            yield "proc/devices", "Character devices:\n195 nvidia\n195 nvidiactl\n507 nvidia-uvm\n\nBlock devices:\n"
            for minor, card in enumerate(self._gpus):
                yield f"proc/driver/nvidia/gpus/{card.address}/information", card.information(minor)

    def build(self, root: Path) -> Path:
        """Write the tree below `root`, which is returned. Raises SeamUnavailable if `char_nodes` cannot be created."""
        for folder in ("proc", "sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/class", "sys/module", "dev", "etc"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        contents: dict[str, Content | None] = {**dict(self._host()), **dict(self._driver()), **self.files}
        for path, content in contents.items():
            _write(root / path, content)
        if (root / "sys/devices/virtual/dmi/id").is_dir():
            (root / "sys/class/dmi").mkdir()
            (root / "sys/class/dmi/id").symlink_to("../../devices/virtual/dmi/id")
        for card in self.pci:
            _plug_in(root / "sys", card)
        for name in self._node_names():
            _make_node(root / "dev" / name, self.node_mode, as_char=self.char_nodes)
        return root


def seen_by_child(root: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """A whole environment in which a dynamically linked child finds `root` in place of this machine's hardware (see root.c)."""
    environment = dict(os.environ if base is None else base)
    return environment | preloaded("root.c", environment, last=True) | {"FAKE_ROOT": str(root)}  # mismatch.c must see the true path


def _write(path: Path, content: Content | None) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _plug_in(sys: Path, card: PciCard) -> None:
    place = f"devices/pci{card.address.split(':')[0]}:00/{card.address}"
    for name, content in card.files():
        _write(sys / place / name, content)
    (sys / "bus/pci/devices" / card.address).symlink_to(f"../../../{place}")
    if card.driver:
        driver = sys / "bus/pci/drivers" / card.driver
        driver.mkdir(exist_ok=True)
        (driver / card.address).symlink_to(f"../../../../{place}")
        (sys / place / "driver").symlink_to(f"../../../bus/pci/drivers/{card.driver}")


def _make_node(path: Path, mode: int, *, as_char: bool) -> None:
    path.parent.mkdir(exist_ok=True)
    if not as_char:
        path.write_bytes(b"")
    else:
        minor = path.name.removeprefix("nvidia")
        number = (
            os.makedev(195, int(minor) if minor.isdigit() else CONTROL_MINOR) if path.name.startswith("nvidia") else os.makedev(10, 125)
        )
        try:
            os.mknod(path, stat.S_IFCHR | mode, number)
        except PermissionError as error:
            msg = "needs root and CAP_MKNOD for character device nodes"
            raise SeamUnavailable(msg) from error
    path.chmod(mode)
