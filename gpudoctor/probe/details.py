"""The machine around its GPUs: processor, memory, board, uptime, kernel parameters; nothing that identifies it."""

from __future__ import annotations

import os

from gpudoctor.probe import files
from gpudoctor.probe.host import MODEL_FILES
from gpudoctor.snapshot import Board, Cause, Cpu, Details, Memory, Missing, Parameter, printable_text
from gpudoctor.snapshot.details import CPU_FEATURES

DMI_FOLDER = "/sys/class/dmi/id"
KERNEL_PARAMETERS = (
    "nokaslr", "kaslr", "nomodeset", "iommu", "iommu.passthrough", "iommu.strict", "intel_iommu", "amd_iommu", "vfio-pci.ids", "pci",
    "pcie_aspm", "pcie_port_pm", "pcie_acs_override", "modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "nouveau.modeset",
    "lockdown", "module.sig_enforce", "hugepages", "hugepagesz", "default_hugepagesz", "transparent_hugepage", "numa_balancing", "numa",
    "mem", "isolcpus", "nohz_full", "init_on_alloc", "mitigations", "swiotlb", "acpi", "efi", "efifb", "video",
    "systemd.unified_cgroup_hierarchy", "cgroup_no_v1", "kvm.ignore_msrs", "mce", "clearcpuid", "noxsave",
)  # fmt: skip
MODULE_PREFIXES = (
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
MAX_LENGTH = 200
"""Characters of one value to keep."""


def details(root: str) -> Details:
    """The section, each field on its own."""
    return Details(
        cpu=_processor(root),
        memory=host_memory(root),
        board=_mainboard(root),
        uptime=_uptime_seconds(root),
        kernel_parameters=_kernel_parameters(root),
    )


def _rows_by_key(text: str) -> dict[str, str]:
    """The first of each line "key : value"."""
    rows: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            rows.setdefault(key.strip(), value.strip())
    return rows


def _processor(root: str) -> Cpu:
    text = files.read_text("/proc/cpuinfo", root, 8192)  # the first processor; a machine may have hundreds
    count = len(os.sched_getaffinity(0)) if files.is_live(root) else Missing(Cause.NOT_ASKED, "only known on the machine itself")
    if isinstance(text, Missing):
        return Cpu(text, text, count)
    rows = _rows_by_key(text)
    model = rows.get("model name") or rows.get("Model") or _arm_model(rows)
    listed = rows.get("flags", rows.get("Features"))
    flags: tuple[str, ...] | Missing = Missing(Cause.ABSENT, "/proc/cpuinfo lists no features")
    if listed is not None:
        there = set(listed.split())
        flags = tuple(flag for flag in CPU_FEATURES if flag in there)
    return Cpu(printable_text(model)[:MAX_LENGTH] if model else Missing(Cause.ABSENT, "/proc/cpuinfo names no model"), flags, count)


def _arm_model(rows: dict[str, str]) -> str:
    implementer, part = rows.get("CPU implementer", ""), rows.get("CPU part", "")
    return f"ARM implementer {implementer} part {part}" if implementer and part else ""


def host_memory(root: str) -> Memory:
    """The kernel's figures, in bytes."""
    text = files.read_text("/proc/meminfo", root, 8192)
    rows = _rows_by_key(text) if isinstance(text, str) else {}

    def size(key: str) -> int | Missing:
        if isinstance(text, Missing):
            return text
        number = files.parse_number(rows.get(key, "").removesuffix("kB"), f"/proc/meminfo, {key},")
        return number if isinstance(number, Missing) else number << 10

    return Memory(size("MemTotal"), size("MemAvailable"), size("SwapTotal"), size("SwapFree"))


def _mainboard(root: str) -> Board | Missing:
    if not files.is_folder(DMI_FOLDER, root):
        return _board_from_device_tree(root)

    def word(name: str) -> str | Missing:
        text = files.read_text(f"{DMI_FOLDER}/{name}", root, 256)
        return (text.strip() or Missing(Cause.ABSENT, f"{DMI_FOLDER}/{name} is empty")) if isinstance(text, str) else text

    return Board(
        vendor=word("sys_vendor"),
        product=word("product_name"),
        board=word("board_name"),
        bios_vendor=word("bios_vendor"),
        bios_version=word("bios_version"),
        bios_date=word("bios_date"),
    )


def _board_from_device_tree(root: str) -> Board | Missing:
    for path in MODEL_FILES:
        if model := files.text_or_empty(path, root, 256).strip("\0 \n"):
            return Board(product=model)
    return Missing(Cause.ABSENT, f"neither {DMI_FOLDER} nor a device tree exists")


def _uptime_seconds(root: str) -> float | Missing:
    text = files.read_text("/proc/uptime", root, 64)
    if isinstance(text, Missing):
        return text
    seconds = text.partition(" ")[0].strip()
    if seconds.replace(".", "", 1).isdecimal() and seconds.isascii() and len(seconds) < 20:
        return float(seconds)
    return Missing(Cause.FAILED, f"/proc/uptime contains {text[:40]!r}")


def _kernel_parameters(root: str) -> tuple[Parameter, ...] | Missing:
    """Selected by name, because installers and virtual machines receive secrets on the command line too."""
    text = files.read_text("/proc/cmdline", root, 8192)
    if isinstance(text, Missing):
        return text
    pairs = (word.partition("=") for word in text.split())
    return tuple(
        Parameter(name, value[:MAX_LENGTH]) for name, _, value in pairs if name in KERNEL_PARAMETERS or name.startswith(MODULE_PREFIXES)
    )
