"""The NVIDIA kernel driver: whether it is loaded, its version and flavour, its GPUs, and other drivers that claim GPUs."""

from __future__ import annotations

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Fact, KernelDriver, Major, Missing, Parameter, ProcGpu, normalise_address, printable_text

VERSION_FILE = "/proc/driver/nvidia/version"
GPUS_FOLDER = "/proc/driver/nvidia/gpus"
MODULES_FOLDER = "/sys/module"
DEVICES_FILE = "/proc/devices"
PARAMETERS_FILE = "/proc/driver/nvidia/params"
MAX_LENGTH = 200
"""Characters of a parameter's value to keep."""
RELEVANT_MODULES = (
    "nvidia",
    "nvidia_uvm",
    "nvidia_modeset",
    "nvidia_drm",
    "nvidia_peermem",
    "nvgpu",
    "nouveau",
    "nova_core",
    "nova",
    "nova_drm",
    "vfio_pci",
    "pci_stub",
    "xen_pciback",
    "amdgpu",
    "i915",
    "xe",
    "dxgkrnl",
)
"""Modules that drive or claim GPUs."""


def kernel_driver(root: str) -> KernelDriver | Missing:
    """The driver, without a version if none is loaded. Missing only if neither /proc nor /sys exists."""
    if not any(files.is_folder(path, root) for path in ("/proc", "/sys")):
        return Missing(Cause.FAILED, "neither /proc nor /sys is mounted")
    version, flavour = _announced_version(files.read_text(VERSION_FILE, root))
    modules = _loaded_modules(root)
    if isinstance(version, Missing):
        version = _module_version(root, modules, version)
    return KernelDriver(
        version=version,
        flavour=flavour,
        modules=modules,
        gpus=_proc_gpus(root),
        majors=_device_majors(root),
        parameters=_module_parameters(root, modules),
    )


def _announced_version(text: str | Missing) -> tuple[Fact | Missing, str | Missing]:
    """Version and flavour from the driver's own line.

    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ..." or "... UNIX Open Kernel Module for x86_64  550.54.15  ..."
    """
    if isinstance(text, Missing):
        return text, text
    line = text.partition("\n")[0]
    for word in line.partition("Kernel Module")[2].split():
        if word[:1].isdecimal() and "." in word and all(part.isascii() and part.isdecimal() for part in word.split(".")):
            return Fact(word, VERSION_FILE), "open" if "Open Kernel Module" in line else "proprietary"
    unclear = Missing(Cause.FAILED, f"{VERSION_FILE} has an unknown format: {line[:120]!r}")
    return unclear, unclear


def _loaded_modules(root: str) -> tuple[str, ...] | Missing:
    loaded = files.list_folder(MODULES_FOLDER, root)
    if isinstance(loaded, Missing):
        return loaded
    return tuple(name for name in RELEVANT_MODULES if name in loaded)


def _module_version(root: str, modules: tuple[str, ...] | Missing, announced: Missing) -> Fact | Missing:
    """The version from the module's own file, for sandboxes that hide the driver's."""
    if isinstance(modules, Missing):
        return announced
    if "nvidia" in modules:
        path = f"{MODULES_FOLDER}/nvidia/version"
        word = files.read_word(path, root)
        if isinstance(word, str):
            return Fact(word[:40], path)
        return Missing(Cause.FAILED, f"the module nvidia is loaded but its version is unknown ({word.reason})")
    if announced.cause is Cause.ABSENT:
        return Missing(Cause.ABSENT, f"no NVIDIA kernel driver is loaded: neither {VERSION_FILE} nor {MODULES_FOLDER}/nvidia exists")
    return announced


def _device_majors(root: str) -> tuple[Major, ...] | Missing:
    text = files.read_text(DEVICES_FILE, root)
    if isinstance(text, Missing):
        return text
    rows = (line.split() for line in text.partition("Block devices:")[0].splitlines())
    return tuple(
        Major(row[1], int(row[0]))
        for row in rows
        if len(row) == 2 and row[0].isdecimal() and len(row[0]) < 10 and row[1].startswith("nvidia")
    )


def _module_parameters(root: str, modules: tuple[str, ...] | Missing) -> tuple[Parameter, ...] | Missing:
    """The driver's own list (nv-procfs.c), then each of its modules' parameters in /sys, some of which only root can read."""
    if isinstance(modules, Missing):
        return modules
    pairs = (line.partition(":") for line in files.lines_or_empty(PARAMETERS_FILE, root, 16384))
    found = {f"nvidia.{key.strip()}": value.strip() for key, colon, value in pairs if colon}
    for module in modules:
        folder = f"{MODULES_FOLDER}/{module}/parameters"
        for name in files.entries_or_empty(folder, root) if module.startswith("nvidia") else ():
            value = files.read_text(f"{folder}/{name}", root, 1024)
            if isinstance(value, str):
                found[f"{module}.{printable_text(name)}"] = value.strip()
    return tuple(Parameter(name, value[:MAX_LENGTH]) for name, value in found.items())


def _proc_gpus(root: str) -> tuple[ProcGpu, ...] | Missing:
    names = files.list_folder(GPUS_FOLDER, root)
    if isinstance(names, Missing):
        return names
    places = ((normalise_address(name), f"{GPUS_FOLDER}/{name}/information") for name in names)
    return tuple(_proc_gpu(address, files.read_text(path, root), path) for address, path in places if address is not None)


def _proc_gpu(address: str, text: str | Missing, path: str) -> ProcGpu:
    if isinstance(text, Missing):
        return ProcGpu(address=address, minor=text, model=text)
    rows = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    absent = Missing(Cause.ABSENT, f"not in {path}")
    minor = rows.get("Device Minor")
    return ProcGpu(
        address=address,
        minor=absent if minor is None else files.parse_number(minor, path),
        model=rows.get("Model") or absent,
        firmware=_firmware_version(rows.get("GPU Firmware"), absent),
        excluded=rows["GPU Excluded"] == "Yes" if "GPU Excluded" in rows else absent,
    )


def _firmware_version(text: str | None, absent: Missing) -> str | Missing:
    if text == "N/A":
        return Missing(Cause.UNSUPPORTED, "the GPU runs no GSP firmware")
    return text or absent
