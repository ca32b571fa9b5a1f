"""The fix for a compute mode that locks programs out of a GPU."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.findings import ROOT, Action, Fix


def set_default_mode(gpu: GpuView) -> Fix:
    """Return the fix that sets the GPU's compute mode to DEFAULT."""
    if gpu.machine.site.container:
        return Fix("On the host, set the GPU's compute mode to DEFAULT.", action=Action.CONTACT_ADMINISTRATOR)
    return Fix(
        "Set the GPU's compute mode to DEFAULT, so any number of programs can use it", f"sudo nvidia-smi -i {gpu.key} -c DEFAULT", (ROOT,)
    )
