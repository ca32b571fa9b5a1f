"""How to let any number of programs use a GPU."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.findings import Fix
from gpudoctor.findings.actions import Action


def set_default_mode(gpu: GpuView) -> Fix:
    """Return the fix that sets the GPU's compute mode to DEFAULT."""
    if gpu.machine.site.container:
        return Fix("Have the host set the GPU's compute mode to DEFAULT.", action=Action.CONTACT_ADMINISTRATOR)
    return Fix("Let any number of programs use the GPU", f"sudo nvidia-smi -i {gpu.key} -c DEFAULT", (ROOT,))
