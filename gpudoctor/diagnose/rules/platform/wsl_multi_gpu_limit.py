"""GD310: wsl-multi-gpu-limit."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.platform.wsl import _here
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Missing, Wsl


@rule("GD310", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False, explains=(Explains(("all-reduce-failed",), ""),))
def wsl_multi_gpu_limit(wsl: Wsl | Missing, site: Site, hardware: Hardware) -> Iterator[Problem]:
    """Several GPUs under WSL 2 work together only in part.

    ## Why it matters
    GPUs under WSL 2 belong to Windows. Classic CUDA inter-process handles are not supported, so NCCL takes the way through shared
    host memory, or fails where it was told otherwise; and containers are given all GPUs or none.

    ## What to do
    Train with one GPU a process, or use Linux without Windows for several. If NCCL hangs, set NCCL_P2P_DISABLE=1.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    """
    _here(wsl, site)
    if len(hardware) < 2:
        return
    yield Problem(
        message=f"{len(hardware)} GPUs under WSL 2: they exchange data through host memory, slower than without Windows.",
        evidence=(Evidence("GPUs", str(len(hardware)), "NVML, CUDA"),),
        fixes=(Fix("If several processes hang in NCCL", "export NCCL_P2P_DISABLE=1"),),
    )
