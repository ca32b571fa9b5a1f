"""GD9: clocks that somebody has lowered, and GPUs that fall behind others of their model under the same load."""

from __future__ import annotations

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.findings import Fix, FixKind


def _free(gpu: Gpu, site: Site, kind: FixKind = FixKind.FIX) -> Fix:
    if site.container:
        return Fix("Have the host reset the GPU's application clocks and unlock its clocks.", kind=kind)
    command = f"sudo nvidia-smi -i {gpu.key} -rac; sudo nvidia-smi -i {gpu.key} -rgc; sudo nvidia-smi -i {gpu.key} -rmc"
    return Fix("Reset its application clocks and unlock its clocks", command, (ROOT,), kind=kind)
