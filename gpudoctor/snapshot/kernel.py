"""Observations of the kernel side beyond the loaded driver: modules on disk, Secure Boot, fabric manager, stuck processes."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed


class ModuleFile(Observed, frozen=True):
    """A kernel module of the NVIDIA driver on disk."""

    name: str
    """Its name in the kernel: nvidia, nvidia_uvm."""
    path: str
    signed: bool | Missing = NOT_ASKED
    """Whether a signature is appended; unsupported for a compressed file."""


class DkmsModule(Observed, frozen=True):
    """A release of a driver's source known to DKMS, from /var/lib/dkms."""

    name: str
    version: str
    kernels: tuple[str, ...]
    """The kernels for which it was built."""
    failed: tuple[str, ...] = ()
    """The kernels with the log of a started build."""


class Blocked(Observed, frozen=True):
    """A module that the configuration keeps from loading."""

    name: str
    where: str
    how: str
    """blacklist (it does not load by itself) or install (it cannot be loaded at all)."""


class KernelModules(Observed, frozen=True):
    """The modules that the running kernel could load for an NVIDIA GPU, and what blocks them.

    The fields about the disk (`installed` to `blocked`) are only filled if no NVIDIA driver is loaded.
    """

    installed: tuple[ModuleFile, ...] | Missing = NOT_ASKED
    """The NVIDIA modules for the running kernel. Absent: /lib/modules has no folder for it."""
    other_kernels: tuple[str, ...] | Missing = NOT_ASKED
    """The other kernels on disk that have an NVIDIA module."""
    headers: bool | Missing = NOT_ASKED
    """Whether the running kernel's headers are installed, which a module build needs."""
    dkms: tuple[DkmsModule, ...] | Missing = NOT_ASKED
    blocked: tuple[Blocked, ...] | Missing = NOT_ASKED
    """Of nvidia, nouveau and nova, in modprobe.d and on the kernel's command line."""
    secure_boot: bool | Missing = NOT_ASKED
    """Absent: the machine did not boot with UEFI."""
    signatures_enforced: bool | Missing = NOT_ASKED
    """Whether the kernel refuses modules without a trusted signature."""
    lockdown: str | Missing = NOT_ASKED
    """none, integrity or confidentiality."""
    taint: int | Missing = NOT_ASKED
    """The bits of /proc/sys/kernel/tainted."""
    suspends: int | Missing = NOT_ASKED
    """How often the machine has slept since it booted."""


class FabricManager(Observed, frozen=True):
    """The service that sets up NVSwitches. Only examined if the PCI bus has one or NVML reports a GPU on a fabric; absent: not installed."""

    running: bool | Missing = NOT_ASKED
    """Not-asked in a container, which does not see the host's processes."""
    unit: str | Missing = NOT_ASKED
    """Its systemd unit file."""
    enabled: bool | Missing = NOT_ASKED
    """Whether it starts at boot."""
    version: Fact | Missing = NOT_ASKED
    complaint: str | Missing = NOT_ASKED
    """The last line of its log that mentions a failure."""


class FabricParts(Observed, frozen=True):
    """What an NVLink 5 fabric needs beyond the fabric manager. Only examined if NVML reports a GPU on a fabric."""

    nvlsm: str | Missing = NOT_ASKED
    """The program of the NVLink subnet manager; absent: not installed."""
    nvlsm_running: bool | Missing = NOT_ASKED
    umad: bool | Missing = NOT_ASKED
    """Whether the kernel provides InfiniBand management datagrams (module ib_umad), which the switches need."""
    infiniband: tuple[str, ...] | Missing = NOT_ASKED
    """The InfiniBand devices; an HGX baseboard with NVLink 5 has its own in front of its switches."""
    imex: str | Missing = NOT_ASKED
    """The unit of nvidia-imex, which shares memory between the nodes of a rack."""
    imex_running: bool | Missing = NOT_ASKED
    imex_channels: tuple[str, ...] | Missing = NOT_ASKED
    """Device files below /dev/nvidia-caps-imex-channels."""


class StuckProcess(Observed, frozen=True):
    """A process that was in an uninterruptible call (state D) at two looks."""

    pid: int
    name: str
    waits_in: str | Missing = NOT_ASKED
    """The kernel function, if the kernel shows it."""


class Amd(Observed, frozen=True):
    """An AMD GPU of the ROCm kernel driver, from /sys/class/kfd."""

    target: str
    """Its name in compilers: gfx1030."""
