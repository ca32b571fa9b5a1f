"""Parts of a GPU: MIG instances and vGPUs, which share the physical GPU's compute capability but not its size, which their name states."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gpudoctor.matrix import gpu_names
from gpudoctor.matrix.machine_rows import GpuProduct

_MIG_NAME = r"(?i)(?P<whole>.+?)\s+(?:MIG\s+)?(?P<slice>(?:\d+c\.)?\d+g\.(?P<gb>\d+)gb(?:[+-][\w.]+)*)"
"""NVML's name of a MIG device: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", of a compute instance "MIG 1c.3g.20gb"."""
_VGPU_NAME = r"(?i)(?:NVIDIA|GRID)\s+(?P<whole>[\w -]+?)-(?P<slice>(?:\d+-)?(?P<gb>\d+)[ABCQ])"
"""A guest's name of a vGPU: "GRID T4-16C", "NVIDIA A40-8Q"; on a GPU in MIG mode "NVIDIA A100-4-20C"."""
_VARIANT = r"(?i)(?P<line>.*\d)[BCDLMPSX]{1,2}"
"""Board letters in vGPU names: V100D and V100DX are V100s with 32 GB, RTX6000P is the passively cooled Quadro RTX 6000."""
_NO_RATES = dict.fromkeys(("bandwidth_gbs", "fp32_tflops", "tf32_tflops", "bf16_tflops", "fp16_tflops"))


_MAX_INSTANCES = {"A30": 4, "A100": 7, "H100": 7, "H200": 7, "H20": 7, "GH200": 7, "B200": 7, "GB200": 7, "RTX PRO 6000": 4}
"""The most MIG instances of a line of GPUs: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html"""
_EIGHTHS: dict[int, dict[int, tuple[int, ...]]] = {4: {1: (2,), 2: (4,), 4: (8,)}, 7: {1: (1, 2), 2: (2,), 3: (4,), 4: (4,), 7: (8,)}}
"""Eighths of the memory that an instance can have by its share of the GPU; its name has the rounded size.

https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html
"""
_AMPERE, _HOPPER = (8, 0), (9, 0)
"""MIG came with the compute capability of the A100. Up to Hopper only data-center chips have it, whose minor version is 0."""


def slice_problem(name: str, products: Mapping[str, GpuProduct]) -> str:
    """Return why no GPU has the MIG instance that this name states, a sentence; "" if one has it, or may have it."""
    match = re.fullmatch(_MIG_NAME, name[: gpu_names.MAX_NAME_LENGTH].strip())
    whole = _physical_gpu(match["whole"], products) if match else None
    if match is None or whole is None:
        return ""
    line = next((line for line in _MAX_INSTANCES if _is_of_line(line, whole)), None)
    if line is None:
        capability = whole.compute_capability.major, whole.compute_capability.minor
        return f"{whole.name} cannot be divided into MIG instances." if capability < _HOPPER and capability != _AMPERE else ""
    sized = re.search(r"(?i)\d ?gi?b", match["whole"])
    sizes = {
        product.memory_gib for product in ((whole,) if sized else products.values()) if product.memory_gib and _is_of_line(line, product)
    }
    shares = [(part, eighths) for part, every in _EIGHTHS[_MAX_INSTANCES[line]].items() for eighths in every]
    profiles = dict.fromkeys(f"{part}g.{int(size * eighths / 8 + 0.5)}gb" for size in sorted(sizes) for part, eighths in shares)
    asked = re.sub(r"^\d+c\.|[+-].*", "", match["slice"].lower())
    return "" if asked in profiles else f"{whole.name if sized else line} has no MIG profile {asked}; it has {', '.join(profiles)}."


def _is_of_line(line: str, product: GpuProduct) -> bool:
    return re.match(rf"NVIDIA {line}\b", product.name) is not None


def find_slice(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The part of a GPU with this name: its physical GPU's row with the part's memory, without rates."""
    name = name[: gpu_names.MAX_NAME_LENGTH]
    for form, called in ((_MIG_NAME, "MIG instance"), (_VGPU_NAME, "vGPU")):
        match = re.fullmatch(form, name.strip())
        whole = _physical_gpu(match["whole"], products) if match else None
        if match and whole:
            note = f"{called} {match['slice']}: rates are a share of the physical GPU's"
            return msgspec.structs.replace(whole, name=name.strip(), aliases=(), note=note, memory_gib=float(match["gb"]), **_NO_RATES)
    return None


def _physical_gpu(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The physical GPU of this name, or one of its product line if all of the line share a compute capability."""
    variant = re.fullmatch(_VARIANT, name)
    for line in (name, variant["line"] if variant else name):
        for spelt in (line, f"Quadro {line}"):
            found = gpu_names.find_product(spelt, products)
            if found is not None:
                return found
        family = [product for product in products.values() if gpu_names.is_of_product_line(product.name, line)]
        if len({product.compute_capability for product in family}) == 1:
            return family[0]
    return None
