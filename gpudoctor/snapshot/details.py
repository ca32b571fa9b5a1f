"""What was observed of the machine itself beside its GPUs: processor, memory, board, kernel parameters, system packages, preloaded libraries."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed, Parameter


class Cpu(Observed, frozen=True):
    """The processor, from /proc/cpuinfo; all of a machine's cores count as equal."""

    model: str | Missing = NOT_ASKED
    """As the kernel names it; on ARM, which names none, implementer and part number."""
    flags: tuple[str, ...] | Missing = NOT_ASKED
    """Those of its features that builds of frameworks ask for: avx, avx2, fma, sse4_2, ... Absent: the kernel lists none."""
    count: int | Missing = NOT_ASKED
    """Logical processors that this process may use."""


class Memory(Observed, frozen=True):
    """The machine's memory from /proc/meminfo, in bytes."""

    total: int | Missing = NOT_ASKED
    available: int | Missing = NOT_ASKED
    swap_total: int | Missing = NOT_ASKED
    swap_free: int | Missing = NOT_ASKED


class Board(Observed, frozen=True):
    """Board and firmware, from /sys/class/dmi/id or the device tree; serial numbers and asset tags are never read."""

    vendor: str | Missing = NOT_ASKED
    product: str | Missing = NOT_ASKED
    board: str | Missing = NOT_ASKED
    bios_vendor: str | Missing = NOT_ASKED
    bios_version: str | Missing = NOT_ASKED
    bios_date: str | Missing = NOT_ASKED


class Details(Observed, frozen=True):
    """The machine beside its GPUs. In a container these are the host's, as the kernel shows them to all."""

    cpu: Cpu
    memory: Memory
    board: Board | Missing = NOT_ASKED
    uptime: float | Missing = NOT_ASKED
    """Seconds since the boot, sleep included."""
    kernel_parameters: tuple[Parameter, ...] | Missing = NOT_ASKED
    """Those of /proc/cmdline that bear on GPUs, by an allow-list of names."""


class SystemPackage(Observed, frozen=True):
    """One package of the distribution that bears on GPUs: driver, CUDA, cuDNN, container engines, compilers."""

    name: str
    version: str
    """As the package manager writes it: 550.163.01-1, 5:28.3.0-1~debian.12~bookworm."""


class SystemPackages(Observed, frozen=True):
    """The distribution's packages that bear on GPUs, from the package manager's own files. Absent: no such file is there."""

    manager: str
    """dpkg, rpm or pacman."""
    where: str
    packages: tuple[SystemPackage, ...] | Missing = NOT_ASKED


class Preload(Observed, frozen=True):
    """One library that the loader puts into every process before all others."""

    path: str
    where: str
    """LD_PRELOAD or /etc/ld.so.preload."""
    exports: tuple[str, ...] | Missing = NOT_ASKED
    """The functions of CUDA and NVML that it defines, so that programs call them in the driver's place; none: it is no such library."""
