"""How to read and unlock a GPU's clocks."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.findings import ROOT, Action, Fix, FixKind


def show_under_load(gpu: GpuView, *sections: str) -> Fix:
    """Return the check that shows these sections of `nvidia-smi -q` under load."""
    return Fix("See what limits the GPU under load", f"nvidia-smi -q -d {','.join(sections)} -i {gpu.key}", kind=FixKind.CHECK)


def unlock_clocks(gpu: GpuView) -> Fix:
    """Return how to reset application clocks and locked clocks."""
    if gpu.machine.site.container:
        return Fix(
            "Ask the host's administrator to reset the GPU's application clocks and locked clocks.", action=Action.CONTACT_ADMINISTRATOR
        )
    command = f"sudo nvidia-smi -i {gpu.key} -rac; sudo nvidia-smi -i {gpu.key} -rgc; sudo nvidia-smi -i {gpu.key} -rmc"
    return Fix("Reset application clocks and locked clocks", command, (ROOT,))
