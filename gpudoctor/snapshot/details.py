"""Observations of the machine around its GPUs: processor, memory, board, kernel parameters, system packages, preloaded libraries."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed, Parameter

CPU_FEATURES = (
    "sse4_1", "sse4_2", "avx", "avx2", "bmi1", "bmi2", "abm", "fma", "f16c", "avx512f", "avx512_bf16", "avx_vnni", "amx_tile",
    "asimd", "asimdhp", "sve", "bf16", "hypervisor",
)  # fmt: skip
"""Processor features by which framework builds select code, and the one of virtual machines."""


class Cpu(Observed, frozen=True):
    """The processor, from /proc/cpuinfo; all of a machine's cores are treated as equal."""

    model: str | Missing = NOT_ASKED
    """The kernel's name for it; on ARM, without a name, implementer and part number."""
    flags: tuple[str, ...] | Missing = NOT_ASKED
    """Its features that framework builds use: avx, avx2, fma, sse4_2, ... Absent: the kernel lists none."""
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
    """The machine around its GPUs. In a container these are the host's values, which the kernel shows to all."""

    cpu: Cpu
    memory: Memory
    board: Board | Missing = NOT_ASKED
    uptime: float | Missing = NOT_ASKED
    """Seconds since boot, sleep included."""
    kernel_parameters: tuple[Parameter, ...] | Missing = NOT_ASKED
    """GPU-related parameters in /proc/cmdline, by an allow-list of names."""


class SystemPackage(Observed, frozen=True):
    """A GPU-related package of the distribution: driver, CUDA, cuDNN, container engine, compiler."""

    name: str
    version: str
    """As the package manager writes it: 550.163.01-1, 5:28.3.0-1~debian.12~bookworm."""


class SystemPackages(Observed, frozen=True):
    """The distribution's GPU-related packages, from the package manager's own files. Absent: no such file."""

    manager: str
    """dpkg, rpm or pacman."""
    where: str
    packages: tuple[SystemPackage, ...] | Missing = NOT_ASKED


class Preload(Observed, frozen=True):
    """A library that the loader loads into every process before all others."""

    path: str
    where: str
    """LD_PRELOAD or /etc/ld.so.preload."""
    exports: tuple[str, ...] | Missing = NOT_ASKED
    """The CUDA and NVML functions that it defines, which programs then call instead of the driver's; usually none."""
