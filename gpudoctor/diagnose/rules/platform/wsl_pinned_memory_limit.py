"""GD311: wsl-pinned-memory-limit."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.platform.wsl import _here
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Missing, NvmlGpu, Wsl

_RESTART = "in PowerShell: wsl --shutdown"


@rule("GD311", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
def wsl_pinned_memory_limit(wsl: Wsl | Missing, site: Site, hardware: Hardware) -> Iterator[Problem]:
    r"""WSL 2 has less memory than its GPU, and only a part of it can be pinned.

    ## Why it matters
    WSL 2 is a virtual machine that is given half of Windows' memory unless told otherwise, and Windows lets it pin only a part of
    that for the GPU. Data loaders that pin memory, and offloading of weights, then fail with "out of memory" while the GPU is empty.

    ## What to do
    Raise `memory=` in %UserProfile%\.wslconfig and restart WSL, or do without pinned memory.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    - https://learn.microsoft.com/windows/wsl/wsl-config
    """
    memory = need(_here(wsl, site).memory)
    sizes = [gpu.nvml.memory_total for gpu in hardware if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.memory_total, int)]
    if not sizes:
        not_applicable("the memory of no GPU is known")
    if memory >= max(sizes):
        return
    yield Problem(
        message=f"WSL has {memory >> 30} GiB of memory, its GPU {max(sizes) >> 30} GiB: pinned memory will be scarce.",
        evidence=(
            Evidence("memory of WSL", f"{memory >> 20} MiB", "/proc/meminfo"),
            Evidence("of the GPU", f"{max(sizes) >> 20} MiB", "NVML"),
        ),
        fixes=(Fix(f"Raise memory= below [wsl2] in %UserProfile%\\.wslconfig, then restart WSL ({_RESTART})."),),
    )
