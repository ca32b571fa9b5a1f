"""What the rules about a GPU's NVLinks share."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.findings import Fix, FixKind

NVLINK_XIDS = (74, *range(144, 151))
"""NVLink errors before NVLink 5 and from it on, by NVIDIA's Xid catalogue."""


def show_links(gpu: GpuView) -> Fix:
    """The state and error counters of a GPU's NVLinks."""
    look = f"nvidia-smi nvlink --status -i {gpu.key} && nvidia-smi nvlink -e -i {gpu.key}"
    return Fix("Show the NVLinks and their error counters", look, kind=FixKind.CHECK)
