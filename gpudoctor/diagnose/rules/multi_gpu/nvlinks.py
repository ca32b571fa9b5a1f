"""GD8: a GPU's NVLinks and its place in the fabric: health that NVML reports, errors that are counted."""

from __future__ import annotations

from gpudoctor.derive import Gpu
from gpudoctor.findings import Fix, FixKind

NVLINK_XIDS = (74, *range(144, 151))
"""An NVLink error, of links before NVLink 5 and from it on, by NVIDIA's catalogue."""


def _links(gpu: Gpu) -> Fix:
    look = f"nvidia-smi nvlink --status -i {gpu.key} && nvidia-smi nvlink -e -i {gpu.key}"
    return Fix("Look at the links and their errors", look, kind=FixKind.CHECK)
