"""Names differing facts and their values in words: "GPU 3 (0000:1f:00.0): PCIe link", "x16"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from gpudoctor.changes.walk import Difference, PathStep
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import Cause, Fact, Missing

GPU_LISTS: Final = frozenset({"NvmlGpu", "PciDevice", "ProcGpu", "CudaDevice", "CudaContext", "GpuLoad"})
IDENTIFYING_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "Distribution": ("version",),
    "Extension": ("path",),
    "Fact": ("value",),
    "Framework": ("version", "value"),
    "LibraryFile": ("path",),
    "LibraryUse": ("file", "path"),
    "Status": ("name",),
    "SystemPackage": ("version",),
}
"""The field that says which thing this is: if it differs, what else differs about the thing follows from that."""
SECTION_NAMES: Final = {
    "allocation": "job",
    "cuda_files": "CUDA driver files",
    "device_nodes": "",
    "details": "",
    "fabric_parts": "NVLink fabric",
    "frameworks": "",
    "host": "",
    "kernel_driver": "driver",
    "libcuda_unmasked": "libcuda without CUDA_VISIBLE_DEVICES",
    "libraries": "",
    "limits": "limit",
    "mps": "MPS",
    "nvml": "NVML",
    "packages": "",
    "pci": "",
    "python": "Python",
    "smoke": "smoke training",
    "system_cudnn": "system cuDNN",
    "system_packages": "",
    "toolkits": "CUDA toolkit",
    "variables": "",
    "wsl": "WSL",
}
FIELD_NAMES: Final = {
    "aer_fatal": "fatal PCIe errors",
    "aer_nonfatal": "non-fatal PCIe errors",
    "built_with_cuda": "CUDA of the build",
    "built_with_cudnn": "cuDNN of the build",
    "cuda_build": "built with CUDA",
    "cuda_served": "CUDA version",
    "driver_version": "driver",
    "link_generation": "PCIe generation",
    "link_generation_max": "maximum PCIe generation",
    "link_generation_own": "maximum PCIe generation of the GPU itself",
    "link_speed": "PCIe speed",
    "link_speed_max": "maximum PCIe speed",
    "link_width": "PCIe link",
    "link_width_max": "maximum PCIe link",
    "nvml_version": "driver libraries",
    "persistence": "persistence mode",
    "rocm_build": "built with ROCm",
}
_MAXIMUM_OF: Final = {"link_generation_max": "link_generation", "link_speed_max": "link_speed", "link_width_max": "link_width"}
"""The field whose maximum a field is."""
_UNNAMED_FIELDS = frozenset(
    {"distributions", "devices", "gpus", "nodes", "packages", "frameworks", "uses", "objects", "extensions", "values", "value"}
)
"""Fields whose items speak for themselves."""
_SPELLINGS: Final = {
    "acs": "ACS", "aer": "AER", "bar1": "BAR1", "bios": "BIOS", "cdi": "CDI", "cpu": "CPU", "cpus": "CPUs", "cuda": "CUDA", "cudnn": "cuDNN",
    "dkms": "DKMS", "ecc": "ECC", "gids": "group ids", "gid": "group id", "gpu": "GPU", "gpus": "GPUs", "gsp": "GSP", "imex": "IMEX",
    "inforom": "infoROM", "iommu": "IOMMU", "mig": "MIG", "nccl": "NCCL", "numa": "NUMA", "nvlink": "NVLink", "nvlinks": "NVLink",
    "nvlsm": "NVLSM", "p2p": "P2P", "pcie": "PCIe", "pci": "PCI", "ptx": "PTX", "sass": "SASS", "sm": "SM", "sram": "SRAM", "uid": "user id",
    "umad": "umad", "uuid": "UUID", "vbios": "VBIOS", "xid": "Xid",
}  # fmt: skip
_CAUSE_TEXTS: Final = {
    Cause.ABSENT: "none",
    Cause.DENIED: "no permission to read it",
    Cause.TIMED_OUT: "timed out",
    Cause.FAILED: "could not be read",
    Cause.UNLOADABLE: "cannot be loaded",
    Cause.UNSUPPORTED: "not supported",
    Cause.LOST: "lost",
    Cause.CRASHED: "gpudoctor crashed",
    Cause.NOT_STATED: "not stated",
    Cause.NOT_ASKED: "not asked",
}
_ON_OFF_FIELDS = frozenset({"persistence", "ecc_enabled", "ecc_pending", "mig_enabled", "mig_pending", "confidential", "gsp_enabled"})


def _size_text(number: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if number >= size and number % (size // 1024 or 1) == 0:
            return f"{number / size:g} {unit}" if number % size == 0 else f"{number / size:.2f} {unit}"
    return f"{number} bytes"


_UNIT_FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    "link_width": lambda lanes: f"x{lanes}",
    "link_width_max": lambda lanes: f"x{lanes}",
    "link_speed": lambda speed: f"{speed:g} GT/s",
    "link_speed_max": lambda speed: f"{speed:g} GT/s",
    **dict.fromkeys(("temperature", "temperature_slowdown", "temperature_shutdown"), lambda degrees: f"{degrees} °C"),
    **dict.fromkeys(
        ("power", "power_limit", "power_limit_default", "power_limit_min", "power_limit_max"), lambda milliwatts: f"{milliwatts / 1000:g} W"
    ),
    **dict.fromkeys(("clock_sm", "clock_sm_max", "clock_memory", "clock_memory_max"), lambda clock: f"{clock} MHz"),
    **dict.fromkeys(("memory_total", "memory_free", "memory_used", "memory_reserved", "total", "available", "size", "free"), _size_text),
}


def fact_subject(difference: Difference, gpus: dict[str, str]) -> tuple[str, int]:
    """Return what a fact is about, and how many steps lead there; `gpus` names GPUs by address."""
    for place, step in enumerate(difference.steps):
        kind = type(step.holder).__name__
        if not step.item:
            continue
        if kind in GPU_LISTS and (kind != "PciDevice" or step.name in gpus):
            return gpus.get(step.name, f"GPU {step.name}"), place + 1
        if kind == "LibraryUse":
            return str(step.holder.wanted), place + 1
        if kind in {"Distribution", "SystemPackage", "Extension", "LibraryFile", "Framework", "Node"}:
            return step.name, place + 1
    return "", 0


def fact_name(difference: Difference, begin: int) -> str:
    """Return the name of a fact about its subject, which ends at step `begin`."""
    steps = difference.steps[begin:]
    if begin and tuple(step.name for step in steps) == IDENTIFYING_FIELDS.get(type(difference.steps[begin - 1].holder).__name__):
        return ""
    words = [_step_name(step, first=not begin and not place) for place, step in enumerate(steps)]
    return " ".join(filter(None, words)) or " ".join(step.name.replace("_", " ") for step in steps)


def quantity_name(difference: Difference, begin: int) -> str:
    """Return the same name for a fact and for its maximum."""
    *before, last = difference.steps
    limited = msgspec.structs.replace(last, name=_MAXIMUM_OF.get(last.name, last.name))
    return fact_name(msgspec.structs.replace(difference, steps=(*before, limited)), begin)


def _step_name(step: PathStep, *, first: bool) -> str:
    if step.item:
        return step.name
    if first and step.name in SECTION_NAMES:
        return SECTION_NAMES[step.name]
    if step.name in _UNNAMED_FIELDS:
        return ""
    return FIELD_NAMES.get(step.name) or " ".join(_SPELLINGS.get(word, word) for word in step.name.split("_"))


def value_texts(difference: Difference) -> tuple[str, str]:
    """Return the two values in words; "" for an item that is not there."""
    before, after, field = difference.before, difference.after, difference.steps[-1].name
    if isinstance(before, Missing) and isinstance(after, Missing) and before.cause is after.cause:
        return before.reason, after.reason
    if isinstance(before, tuple) and isinstance(after, tuple):
        return _text_of_one_side(before, after), _text_of_one_side(after, before)
    return _value_text(before, field), _value_text(after, field)


def _text_of_one_side(words: tuple[Any, ...], others: tuple[Any, ...]) -> str:
    """Return what only the first list has; all of it if they differ in order or repetition."""
    if {*map(str, words)} == {*map(str, others)}:
        return ", ".join(map(str, words)) or "none"
    return ", ".join(dict.fromkeys(str(word) for word in words if word not in others)) or "–"  # noqa: RUF001 -- typography


def _value_text(value: Any, field: str) -> str:
    if isinstance(value, bool):
        return ("on" if value else "off") if field in _ON_OFF_FIELDS else ("yes" if value else "no")
    if isinstance(value, int | float):
        return _UNIT_FORMATS.get(field, str)(value)
    if isinstance(value, Missing):
        return _CAUSE_TEXTS.get(value.cause, str(value.cause))
    if isinstance(value, tuple):
        return _items_text(value)
    if isinstance(value, msgspec.Struct):
        return _identifying_value(value)
    return "" if value is None else str(value) or "empty"


def _items_text(items: tuple[Any, ...]) -> str:
    if any(isinstance(item, msgspec.Struct) for item in items):
        return (
            count_with_noun(len(items), "GPU") if type(items[0]).__name__ in GPU_LISTS else count_with_noun(len(items), "entry", "entries")
        )
    return ", ".join(map(str, items)) or "none"


def _identifying_value(item: msgspec.Struct) -> str:
    """Return the value that tells an item from another one of its kind, or that it is there."""
    value: Any = item
    for name in IDENTIFYING_FIELDS.get(type(item).__name__, ("version", "name", "path", "runtime", "text", "value")):
        value = getattr(value, name, value)
        if isinstance(value, str):
            return value
    return value.value if isinstance(value, Fact) else "present"
