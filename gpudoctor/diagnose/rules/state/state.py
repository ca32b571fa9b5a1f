"""GD7: the state that GPUs were put in: compute mode, MIG, memory that others hold, persistence."""

from __future__ import annotations

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.findings import Fix
from gpudoctor.snapshot import GpuProcess


def _names(processes: tuple[GpuProcess, ...]) -> str:
    return ", ".join(f"{one.name} (pid {one.pid})" if isinstance(one.name, str) else f"pid {one.pid}" for one in processes)


def _default_mode(gpu: Gpu, site: Site) -> Fix:
    if site.container:
        return Fix("Have the host set the GPU's compute mode to DEFAULT.")
    return Fix("Let any number of programs use the GPU", f"sudo nvidia-smi -i {gpu.key} -c DEFAULT", (ROOT,))
