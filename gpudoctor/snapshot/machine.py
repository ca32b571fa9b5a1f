"""Observations of the machine below CUDA: host, PCI bus, kernel driver, device nodes, environment variables."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed, OpenEnum, Parameter
from gpudoctor.status_codes import PciClass, PciVendor


class Platform(OpenEnum):
    """The kind of machine, by how programs reach its GPU."""

    LINUX = "linux"
    WSL1 = "wsl1"
    WSL2 = "wsl2"
    JETSON = "jetson"
    WINDOWS = "windows"
    MACOS = "macos"


class Host(Observed, frozen=True):
    """The operating system, and the user who ran the check."""

    platform: Platform | Missing = NOT_ASKED
    architecture: str | Missing = NOT_ASKED
    """As in `uname -m`: x86_64, aarch64."""
    kernel: str | Missing = NOT_ASKED
    """The running kernel's release, as in `uname -r`."""
    distribution: str | Missing = NOT_ASKED
    """ID of /etc/os-release: debian, ubuntu, rhel."""
    distribution_version: str | Missing = NOT_ASKED
    distribution_like: str | Missing = NOT_ASKED
    """ID_LIKE of /etc/os-release: the families with the same package manager."""
    uid: int | Missing = NOT_ASKED
    gids: tuple[int, ...] | Missing = NOT_ASKED
    hostname: str | Missing = NOT_ASKED
    username: str | Missing = NOT_ASKED
    tegra: str | Missing = NOT_ASKED
    """The release of Jetson Linux (L4T), 36.4.3; absent: no /etc/nv_tegra_release."""


class PciBar(Observed, frozen=True):
    """A base address register of a PCI device: a range of the bus that maps its memory."""

    number: int
    size: int
    """Bytes."""
    assigned: bool
    """False: the kernel could not place it, so its memory is unreachable."""


class PciDevice(Observed, frozen=True):
    """A display, 3D, accelerator or NVSwitch function on the PCI bus, from /sys/bus/pci/devices."""

    address: str
    """Normalised: domain:bus:device.function in lower-case hexadecimal, 0000:3b:00.0."""
    vendor: str
    """Four hexadecimal digits: 10de is NVIDIA."""
    device: str
    class_code: str
    """Six hexadecimal digits: 0300xx VGA, 0302xx 3D controller, 0680xx bridge (NVSwitch), 12xxxx accelerator."""
    driver: str | Missing = NOT_ASKED
    """The kernel driver bound to it; absent if none."""
    link_width: int | Missing = NOT_ASKED
    link_width_max: int | Missing = NOT_ASKED
    link_speed: float | Missing = NOT_ASKED
    """GT/s now; an idle link slows down to save power."""
    link_speed_max: float | Missing = NOT_ASKED
    power_state: str | Missing = NOT_ASKED
    """D0 is awake; NVIDIA devices only."""
    runtime_status: str | Missing = NOT_ASKED
    """active, suspended or error; NVIDIA devices only."""
    aer_fatal: int | Missing = NOT_ASKED
    """Fatal PCIe errors since boot; NVIDIA devices only."""
    aer_nonfatal: int | Missing = NOT_ASKED
    iommu: str | Missing = NOT_ASKED
    """How the IOMMU treats its transfers: identity (untouched), DMA or DMA-FQ (translated); absent: no IOMMU. NVIDIA devices only."""
    answers: bool | Missing = NOT_ASKED
    """Its configuration space is not all ones; not-asked if it sleeps. NVIDIA devices only."""
    numa_node: int | Missing = NOT_ASKED
    """The slot's NUMA node; NVIDIA devices only, as `cpus` and `bars`."""
    cpus: str | Missing = NOT_ASKED
    """The CPUs next to it, as a list of ranges: 0-31,64-95."""
    bars: tuple[PciBar, ...] | Missing = NOT_ASKED
    """The memory BARs that the kernel knows."""
    name: str | Missing = NOT_ASKED
    """The product's name, as lspci has it; of pasted text only."""

    @property
    def is_nvidia_gpu(self) -> bool:
        """Whether this is an NVIDIA display or 3D controller, as its GPUs are."""
        return self.vendor == PciVendor.NVIDIA and self.class_code.startswith(PciClass.DISPLAY)

    @property
    def is_nvswitch(self) -> bool:
        """Whether this is an NVSwitch: an NVIDIA bridge."""
        return self.vendor == PciVendor.NVIDIA and self.class_code.startswith(PciClass.BRIDGE)


class Pci(Observed, frozen=True):
    """The PCI bus as /sys shows it; in a container the host's."""

    devices: tuple[PciDevice, ...]


class ProcGpu(Observed, frozen=True):
    """A GPU bound by the kernel driver, from /proc/driver/nvidia/gpus."""

    address: str
    minor: int | Missing = NOT_ASKED
    model: str | Missing = NOT_ASKED
    firmware: str | Missing = NOT_ASKED
    """The version of the GPU's own firmware (GSP), if it runs one."""
    excluded: bool | Missing = NOT_ASKED
    """Excluded by the module parameter NVreg_ExcludedGpus."""


class Major(Observed, frozen=True):
    """A character device in /proc/devices: the kernel's number for a driver's nodes."""

    name: str
    major: int


class KernelDriver(Observed, frozen=True):
    """The loaded NVIDIA kernel driver."""

    version: Fact | Missing = NOT_ASKED
    flavour: str | Missing = NOT_ASKED
    """open or proprietary."""
    modules: tuple[str, ...] | Missing = NOT_ASKED
    """The loaded kernel modules that drive or claim GPUs: nvidia, nvidia_uvm, nouveau, vfio_pci."""
    gpus: tuple[ProcGpu, ...] | Missing = NOT_ASKED
    majors: tuple[Major, ...] | Missing = NOT_ASKED
    """Those of nvidia*; nvidia-uvm's is assigned at each boot."""
    parameters: tuple[Parameter, ...] | Missing = NOT_ASKED
    """The modules' parameters as the kernel shows them, by module and name: nvidia.DeviceFileMode, nvidia_uvm.uvm_disable_hmm."""


class Node(Observed, frozen=True):
    """A file under /dev through which programs use the driver."""

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
    """Whether the examining user may read and write it, by the kernel's answer: permission bits, access lists, device control groups."""


class DeviceNodes(Observed, frozen=True):
    """/dev/nvidia*, /dev/dxg and /dev/nvhost*, listed before any NVML or CUDA call could create one."""

    nodes: tuple[Node, ...]


class Variables(Observed, frozen=True):
    """The allow-listed environment variables that programs of the examined Python have, by name."""

    values: dict[str, str]
    set_by: dict[str, str] = {}  # noqa: RUF012 -- msgspec copies it
    """By name, the file that sets or unsets a variable when that Python starts, such as sitecustomize.py; empty if it was not found."""

    def place(self, name: str) -> str:
        """Where the value of a variable was read, as evidence says it."""
        return self.set_by[name] or "os.environ once Python has started" if name in self.set_by else "environment"


class Reading(Observed, frozen=True):
    """What one reader recognised in a pasted text."""

    reader: str
    """nvidia-smi, torch.utils.collect_env."""
    facts: int
    first: int
    """Number of the first line that it used."""
    last: int
    file: str = ""
    """The file with these lines, if the text consists of several."""


class Reported(Observed, frozen=True):
    """A root cause or a note of a gpudoctor report in a pasted text."""

    code: str
    severity: str
    """error, warning or note."""
    confidence: str
    message: str
    where: str


class LikeCause(Observed, frozen=True):
    """A cause that the words of a pasted text are like those of."""

    cause: str
    """The name of a finding."""
    share: float
    """Its probability if the text tells of a fault, 0 to 1."""
    words: tuple[str, ...]
    """Words of the text that speak most for it."""


class Likeness(Observed, frozen=True):
    """What the words of a pasted text are like, by models that were learned from texts whose cause is known."""

    fault: float = 0
    """The probability that the text tells of a fault, 0 to 1."""
    causes: tuple[LikeCause, ...] = ()
    """The likeliest first."""


class TextLog(Observed, frozen=True):
    """A pasted text: its signs of a fault, and what was recognised in it."""

    lines: tuple[Fact, ...]
    """The lines that are signs of a fault or of its cause, as they were pasted."""
    readings: tuple[Reading, ...] = ()
    total: int = 0
    """Lines that are not empty."""
    used: int = 0
    """Lines of these that state a fact, are signs of a fault or are known to be harmless."""
    reported: tuple[Reported, ...] = ()
    set_by_program: dict[Literal["used", "imported", "code"], Fact] = msgspec.field(default_factory=dict)
    """Where code in the text sets CUDA_VISIBLE_DEVICES, by what it did before: "used" CUDA, "imported" a framework, "code" neither."""
    gpu_requests: dict[Literal["requested", "none"], Fact] = msgspec.field(default_factory=dict)
    """The first command or file that starts a container, by whether it asks for a GPU: "requested" or "none"."""
    likeness: Likeness = Likeness()

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(line.value for line in self.lines)

    def has_line_with(self, words: re.Pattern[str]) -> bool:
        """Return whether a line contains these words."""
        return any(words.search(line.value) for line in self.lines)


class XidEvent(Observed, frozen=True):
    """An error that the NVIDIA driver logged in the kernel log: an Xid of a GPU, or an SXid of an NVSwitch."""

    code: int
    """From NVIDIA's catalogue, the matrix's table xid."""
    address: str | Missing
    """Normalised PCI address of the GPU, or of the NVSwitch."""
    text: str
    """What follows the code."""
    switch: bool = False
    """An SXid, whose codes have their own catalogue."""
    age: float | Missing = NOT_ASKED
    """Seconds between the line and the check."""


class KernelLog(Observed, frozen=True):
    """The kernel log's content about GPUs since boot, or as far back as it goes. Denied: only root may read it here."""

    where: str
    """/dev/kmsg, or the journal."""
    events: tuple[XidEvent, ...] = ()
    """In log order; of many equal ones the first and the last few."""
    lines: tuple[str, ...] = ()
    """Other lines about a GPU, its driver or its slot (NVRM, nouveau, module signatures, AER, hung tasks), oldest first."""
    cut: bool = False
    """The log, or its part about GPUs, was too long to keep whole."""
    ages: tuple[float, ...] | Missing = NOT_ASKED
    """Seconds between each of `lines`, in their order, and the check."""
