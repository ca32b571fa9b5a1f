"""What was observed of the machine below CUDA: host, PCI bus, kernel driver, device nodes, container, environment variables."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed, OpenEnum


class Platform(OpenEnum):
    """What kind of machine this is, as far as it changes how a GPU is reached."""

    LINUX = "linux"
    WSL1 = "wsl1"
    WSL2 = "wsl2"
    JETSON = "jetson"
    WINDOWS = "windows"
    MACOS = "macos"


class Host(Observed, frozen=True):
    """The operating system and the user as whom it was examined."""

    platform: Platform | Missing = NOT_ASKED
    architecture: str | Missing = NOT_ASKED
    """As `uname -m` says: x86_64, aarch64."""
    kernel: str | Missing = NOT_ASKED
    """The running kernel's release, as `uname -r` says."""
    distribution: str | Missing = NOT_ASKED
    """ID of /etc/os-release: debian, ubuntu, rhel."""
    distribution_version: str | Missing = NOT_ASKED
    distribution_like: str | Missing = NOT_ASKED
    """ID_LIKE of /etc/os-release: the families whose package manager this one shares."""
    uid: int | Missing = NOT_ASKED
    gids: tuple[int, ...] | Missing = NOT_ASKED
    hostname: str | Missing = NOT_ASKED
    username: str | Missing = NOT_ASKED


class Container(Observed, frozen=True):
    """The container that the examined processes run in."""

    runtime: str
    """docker, podman, kubernetes, containerd, lxc, apptainer, systemd-nspawn, or "unknown"."""
    where: str


class PciDevice(Observed, frozen=True):
    """One display, 3D or NVSwitch function on the PCI bus, from /sys/bus/pci/devices."""

    address: str
    """Normalised: domain:bus:device.function in lower-case hexadecimal, 0000:3b:00.0."""
    vendor: str
    """Four hexadecimal digits: 10de is NVIDIA."""
    device: str
    class_code: str
    """Six hexadecimal digits: 0300xx VGA, 0302xx 3D controller, 0680xx bridge (NVSwitch)."""
    driver: str | Missing = NOT_ASKED
    """The kernel driver bound to it; absent: none is."""
    link_width: int | Missing = NOT_ASKED
    link_width_max: int | Missing = NOT_ASKED
    link_speed: float | Missing = NOT_ASKED
    """GT/s now; an idle link is slow on purpose."""
    link_speed_max: float | Missing = NOT_ASKED


class Pci(Observed, frozen=True):
    """The PCI bus as /sys shows it; in a container that is the host's."""

    devices: tuple[PciDevice, ...]


class ProcGpu(Observed, frozen=True):
    """One GPU that the kernel driver has bound, from /proc/driver/nvidia/gpus."""

    address: str
    minor: int | Missing = NOT_ASKED
    model: str | Missing = NOT_ASKED


class KernelDriver(Observed, frozen=True):
    """The NVIDIA kernel driver that is loaded."""

    version: Fact | Missing = NOT_ASKED
    flavour: str | Missing = NOT_ASKED
    """open or proprietary."""
    modules: tuple[str, ...] | Missing = NOT_ASKED
    """The loaded kernel modules that drive or claim GPUs: nvidia, nvidia_uvm, nouveau, vfio_pci."""
    gpus: tuple[ProcGpu, ...] | Missing = NOT_ASKED


class Node(Observed, frozen=True):
    """One file under /dev through which the driver is reached."""

    path: str
    mode: str | Missing = NOT_ASKED
    """Permission bits in octal: 0666."""
    uid: int | Missing = NOT_ASKED
    gid: int | Missing = NOT_ASKED
    group: str | Missing = NOT_ASKED
    """Name of the owning group, for advice."""
    major: int | Missing = NOT_ASKED
    minor: int | Missing = NOT_ASKED
    accessible: bool | Missing = NOT_ASKED
    """Whether the examining user may read and write it, by its permission bits."""


class DeviceNodes(Observed, frozen=True):
    """/dev/nvidia*, /dev/dxg and /dev/nvhost*, looked at before any NVML or CUDA call could create one."""

    nodes: tuple[Node, ...]


class Variables(Observed, frozen=True):
    """Environment variables on the allow-list that were set, by name."""

    values: dict[str, str]
