"""Parts of a GPU: MIG instances and vGPUs, which share the physical GPU's compute capability but not its size, which their name states."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gpudoctor.matrix import names
from gpudoctor.matrix.rows import GpuProduct

_MIG = r"(?i)(?P<whole>.+?)\s+(?:MIG\s+)?(?P<slice>(?:\d+c\.)?\d+g\.(?P<gb>\d+)gb(?:[+-][\w.]+)*)"
"""NVML's name of a MIG device: "NVIDIA A100-SXM4-40GB MIG 1g.5gb", of a compute instance "MIG 1c.3g.20gb"."""
_VGPU = r"(?i)(?:NVIDIA|GRID)\s+(?P<whole>[\w -]+?)-(?P<slice>(?:\d+-)?(?P<gb>\d+)[ABCQ])"
"""A guest's name of a vGPU: "GRID T4-16C", "NVIDIA A40-8Q"; on a GPU in MIG mode "NVIDIA A100-4-20C"."""
_VARIANT = r"(?i)(?P<line>.*\d)[BCDLMPSX]{1,2}"
"""Board letters in vGPU names: V100D and V100DX are V100s with 32 GB, RTX6000P is the passively cooled Quadro RTX 6000."""
_NO_RATES = dict.fromkeys(("bandwidth_gbs", "fp32_tflops", "tf32_tflops", "bf16_tflops", "fp16_tflops"))


def find(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The part of a GPU with this name: its physical GPU's row with the part's memory, without rates."""
    name = name[: names.LONGEST]
    for form, called in ((_MIG, "MIG instance"), (_VGPU, "vGPU")):
        match = re.fullmatch(form, name.strip())
        whole = _whole(match["whole"], products) if match else None
        if match and whole:
            note = f"{called} {match['slice']}: rates are a share of the physical GPU's"
            return msgspec.structs.replace(whole, name=name.strip(), aliases=(), note=note, memory_gib=float(match["gb"]), **_NO_RATES)
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
