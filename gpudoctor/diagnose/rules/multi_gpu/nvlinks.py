"""A check that the rules about NVLinks share."""

from gpudoctor.derive import GpuView
from gpudoctor.findings import Fix, FixKind


def show_links(gpu: GpuView) -> Fix:
    """Return the check that shows the state and error counters of a GPU's NVLinks."""
    look = f"nvidia-smi nvlink --status -i {gpu.selector} && nvidia-smi nvlink -e -i {gpu.selector}"
    return Fix("Show the NVLinks and their error counters", look, kind=FixKind.CHECK)
