"""The machine around its GPUs: processor, memory, board, uptime, kernel parameters; nothing that identifies it."""

from __future__ import annotations

import os

from gpudoctor.probe import files
from gpudoctor.probe.host import MODELS
from gpudoctor.snapshot import Board, Cause, Cpu, Details, Memory, Missing, Parameter, readable
from gpudoctor.snapshot.details import CPU_FEATURES

DMI = "/sys/class/dmi/id"
PARAMETERS = (
    "nokaslr", "kaslr", "nomodeset", "iommu", "iommu.passthrough", "iommu.strict", "intel_iommu", "amd_iommu", "vfio-pci.ids", "pci",
    "pcie_aspm", "pcie_port_pm", "pcie_acs_override", "modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "nouveau.modeset",
    "lockdown", "module.sig_enforce", "hugepages", "hugepagesz", "default_hugepagesz", "transparent_hugepage", "numa_balancing", "numa",
    "mem", "isolcpus", "nohz_full", "init_on_alloc", "mitigations", "swiotlb", "acpi", "efi", "efifb", "video",
    "systemd.unified_cgroup_hierarchy", "cgroup_no_v1", "kvm.ignore_msrs", "mce", "clearcpuid", "noxsave",
)  # fmt: skip
MODULES = (
    "nvidia.",
    "nvidia-drm.",
    "nvidia_drm.",
    "nvidia-modeset.",
    "nvidia_modeset.",
    "nvidia-uvm.",
    "nvidia_uvm.",
    "nouveau.",
    "nova_core.",
)
"""Prefixes of parameters of the modules that drive GPUs."""
LONGEST = 200
"""Characters of one value to keep."""


def details(root: str) -> Details:
    """The section, each field on its own."""
    return Details(
        cpu=_cpu(root), memory=memory(root), board=_board(root), uptime=_uptime(root), kernel_parameters=_kernel_parameters(root)
    )


def _rows(text: str) -> dict[str, str]:
    """The first of each line "key : value"."""
    rows: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            rows.setdefault(key.strip(), value.strip())
    return rows


def _cpu(root: str) -> Cpu:
    text = files.read("/proc/cpuinfo", root, 8192)  # the first processor; a machine may have hundreds
    count = len(os.sched_getaffinity(0)) if files.is_live(root) else Missing(Cause.NOT_ASKED, "only known on the machine itself")
    if isinstance(text, Missing):
        return Cpu(text, text, count)
    rows = _rows(text)
    model = rows.get("model name") or rows.get("Model") or _arm(rows)
    listed = rows.get("flags", rows.get("Features"))
    flags: tuple[str, ...] | Missing = Missing(Cause.ABSENT, "/proc/cpuinfo lists no features")
    if listed is not None:
        there = set(listed.split())
        flags = tuple(flag for flag in CPU_FEATURES if flag in there)
    return Cpu(readable(model)[:LONGEST] if model else Missing(Cause.ABSENT, "/proc/cpuinfo names no model"), flags, count)


def _arm(rows: dict[str, str]) -> str:
    implementer, part = rows.get("CPU implementer", ""), rows.get("CPU part", "")
    return f"ARM implementer {implementer} part {part}" if implementer and part else ""


def memory(root: str) -> Memory:
    """The kernel's figures, in bytes."""
    text = files.read("/proc/meminfo", root, 8192)
    rows = _rows(text) if isinstance(text, str) else {}

    def size(key: str) -> int | Missing:
        if isinstance(text, Missing):
            return text
        number = files.whole_number(rows.get(key, "").removesuffix("kB"), f"/proc/meminfo, {key},")
        return number if isinstance(number, Missing) else number << 10

    return Memory(size("MemTotal"), size("MemAvailable"), size("SwapTotal"), size("SwapFree"))


def _board(root: str) -> Board | Missing:
    if not files.is_folder(DMI, root):
        return _from_device_tree(root)

    def word(name: str) -> str | Missing:
        text = files.read(f"{DMI}/{name}", root, 256)
        return (text.strip() or Missing(Cause.ABSENT, f"{DMI}/{name} is empty")) if isinstance(text, str) else text

    return Board(
        vendor=word("sys_vendor"),
        product=word("product_name"),
        board=word("board_name"),
        bios_vendor=word("bios_vendor"),
        bios_version=word("bios_version"),
        bios_date=word("bios_date"),
    )


def _from_device_tree(root: str) -> Board | Missing:
    for path in MODELS:
        if model := files.text(path, root, 256).strip("\0 \n"):
            return Board(product=model)
    return Missing(Cause.ABSENT, f"neither {DMI} nor a device tree exists")


def _uptime(root: str) -> float | Missing:
    text = files.read("/proc/uptime", root, 64)
    if isinstance(text, Missing):
        return text
    seconds = text.partition(" ")[0].strip()
    if seconds.replace(".", "", 1).isdecimal() and seconds.isascii() and len(seconds) < 20:
        return float(seconds)
    return Missing(Cause.FAILED, f"/proc/uptime contains {text[:40]!r}")


def _kernel_parameters(root: str) -> tuple[Parameter, ...] | Missing:
    """Selected by name, because installers and virtual machines receive secrets on the command line too."""
    text = files.read("/proc/cmdline", root, 8192)
    if isinstance(text, Missing):
        return text
    pairs = (word.partition("=") for word in text.split())
    return tuple(Parameter(name, value[:LONGEST]) for name, _, value in pairs if name in PARAMETERS or name.startswith(MODULES))
