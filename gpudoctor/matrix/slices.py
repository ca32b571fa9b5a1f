"""Parts of a GPU: MIG instances and vGPUs, which share the physical GPU's compute capability but not its size."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gpudoctor.matrix import names
from gpudoctor.matrix.rows import GpuProduct

_MIG = r"(?i)(?P<whole>.+?)\s+MIG\s+(?P<slice>(?:\d+c\.)?\d+g\.\d+gb(?:[+-][\w.]+)*)"
"""NVML's name of a MIG device: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", of a compute instance "MIG 1c.3g.20gb"."""
_VGPU = r"(?i)(?:NVIDIA|GRID)\s+(?P<whole>[\w -]+?)-(?P<slice>(?:\d+-)?\d+[ABCQ])"
"""A guest's name of a vGPU: "GRID T4-16C", "NVIDIA A40-8Q"; on a GPU in MIG mode "NVIDIA A100-4-20C"."""
_VARIANT = r"(?i)(?P<line>.*\d)[BCDLMPSX]{1,2}"
"""Board letters in vGPU names: V100D and V100DX are V100s with 32 GB, RTX6000P is the passively cooled Quadro RTX 6000."""


def find(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The part of a GPU with this name: its physical GPU's row without memory and rates."""
    name = name[: names.LONGEST]
    for form, called in ((_MIG, "MIG instance"), (_VGPU, "vGPU")):
        match = re.fullmatch(form, name.strip())
        whole = _whole(match["whole"], products) if match else None
        if match and whole:
            return _part(whole, name.strip(), f"{called} {match['slice']}: memory and rates are a share of the physical GPU's")
    return None


def _whole(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The physical GPU of this name, or one of its product line if all of the line share a compute capability."""
    variant = re.fullmatch(_VARIANT, name)
    for line in (name, variant["line"] if variant else name):
        for spelt in (line, f"Quadro {line}"):
            found = names.find(spelt, products)
            if found is not None:
                return found
        family = [product for product in products.values() if names.begins(product.name, line)]
        if len({product.compute_capability for product in family}) == 1:
            return family[0]
    return None


def _part(whole: GpuProduct, name: str, note: str) -> GpuProduct:
    blank = dict.fromkeys(("memory_gib", "bandwidth_gbs", "fp32_tflops", "tf32_tflops", "bf16_tflops", "fp16_tflops"))
    return msgspec.structs.replace(whole, name=name, aliases=(), note=note, **blank)
