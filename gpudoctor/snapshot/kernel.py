"""What was observed of the machine's kernel side beyond the loaded driver: modules on disk, Secure Boot, fabric manager, stuck processes."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed


class ModuleFile(Observed, frozen=True):
    """One kernel module of the NVIDIA driver on disk."""

    name: str
    """As the kernel calls it: nvidia, nvidia_uvm."""
    path: str
    signed: bool | Missing = NOT_ASKED
    """Whether a signature is appended; unsupported for a compressed file."""


class DkmsModule(Observed, frozen=True):
    """One release of a driver's source that DKMS knows, from /var/lib/dkms."""

    name: str
    version: str
    kernels: tuple[str, ...]
    """The kernels for which it was built."""
    failed: tuple[str, ...] = ()
    """The kernels for which a build was begun and left its log behind."""


class Blocked(Observed, frozen=True):
    """A module that the configuration keeps from being loaded."""

    name: str
    where: str
    how: str
    """blacklist (it does not load by itself) or install (it cannot be loaded at all)."""


class KernelModules(Observed, frozen=True):
    """The modules that the running kernel could load for an NVIDIA GPU, and what stands in their way.

    What lies on disk (`installed` to `blocked`) is asked for only where no NVIDIA driver is loaded.
    """

    installed: tuple[ModuleFile, ...] | Missing = NOT_ASKED
    """Those of the NVIDIA driver for the running kernel. Absent: /lib/modules has no folder for it."""
    other_kernels: tuple[str, ...] | Missing = NOT_ASKED
    """The other kernels on disk for which there is an NVIDIA module."""
    headers: bool | Missing = NOT_ASKED
    """Whether the running kernel's headers are there to build a module with."""
    dkms: tuple[DkmsModule, ...] | Missing = NOT_ASKED
    blocked: tuple[Blocked, ...] | Missing = NOT_ASKED
    """Of nvidia, nouveau and nova, in modprobe.d and on the kernel's command line."""
    secure_boot: bool | Missing = NOT_ASKED
    """Absent: the machine was not started by UEFI."""
    signatures_enforced: bool | Missing = NOT_ASKED
    """Whether the kernel refuses modules without a trusted signature."""
    lockdown: str | Missing = NOT_ASKED
    """none, integrity or confidentiality."""
    taint: int | Missing = NOT_ASKED
    """The bits of /proc/sys/kernel/tainted."""
    suspends: int | Missing = NOT_ASKED
    """How often the machine slept and woke since it was booted."""


class FabricManager(Observed, frozen=True):
    """The service that sets up the NVSwitches. Asked for only where the PCI bus shows one or NVML a GPU on a fabric; absent: nothing of it is installed."""

    running: bool | Missing = NOT_ASKED
    """Not-asked in a container, which does not see the host's processes."""
    unit: str | Missing = NOT_ASKED
    """Its systemd unit file."""
    enabled: bool | Missing = NOT_ASKED
    """Whether it starts at boot."""
    version: Fact | Missing = NOT_ASKED
    complaint: str | Missing = NOT_ASKED
    """The last line of its log that speaks of a failure."""


class FabricParts(Observed, frozen=True):
    """What a fabric of NVLink 5 needs beside the fabric manager. Asked for only where NVML says that a GPU is attached to a fabric."""

    nvlsm: str | Missing = NOT_ASKED
    """The program of the NVLink subnet manager; absent: not installed."""
    nvlsm_running: bool | Missing = NOT_ASKED
    umad: bool | Missing = NOT_ASKED
    """Whether the kernel offers InfiniBand's management datagrams (module ib_umad), by which the switches are reached."""
    infiniband: tuple[str, ...] | Missing = NOT_ASKED
    """The InfiniBand devices; an HGX baseboard with NVLink 5 has some of its own before its switches."""
    imex: str | Missing = NOT_ASKED
    """The unit of nvidia-imex, which shares memory between the nodes of a rack."""
    imex_running: bool | Missing = NOT_ASKED
    imex_channels: tuple[str, ...] | Missing = NOT_ASKED
    """Device files below /dev/nvidia-caps-imex-channels."""


class StuckProcess(Observed, frozen=True):
    """A process that sat in an uninterruptible call (state D) at two looks."""

    pid: int
    name: str
    waits_in: str | Missing = NOT_ASKED
    """The kernel function, where the kernel tells."""


class Amd(Observed, frozen=True):
    """One AMD GPU that the ROCm kernel driver serves, from /sys/class/kfd."""

    target: str
    """As compilers call it: gfx1030."""
