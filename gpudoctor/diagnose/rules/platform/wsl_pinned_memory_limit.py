"""GD311: wsl-pinned-memory-limit."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.unknown import known, not_applicable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.findings.actions import Domain
from gpudoctor.snapshot import NvmlGpu

_RAISE = Fix("Raise memory= below [wsl2] in %UserProfile%\\.wslconfig, then restart WSL (in PowerShell: wsl --shutdown).")


@rule("GD311", severity=Severity.NOTE, breaks=Rung.TRAINED, domain=Domain.DRIVER, since="0.1", predicts=False)
def wsl_pinned_memory_limit(machine: MachineView) -> Iterator[Problem]:
    """WSL 2 has less memory than the GPU and can pin only part of it."""
    memory = known(machine.wsl2.memory)
    totals = [gpu.nvml.memory_total for gpu in machine.hardware if isinstance(gpu.nvml, NvmlGpu)]
    sizes = [total for total in totals if isinstance(total, int)]
    if not sizes:
        not_applicable("the memory of no GPU is known")
    if memory >= max(sizes):
        return
    yield Problem(
        message=f"WSL has {memory >> 30} GiB of memory, its GPU {max(sizes) >> 30} GiB: pinned memory will be scarce.",
        evidence=(
            Evidence("memory of WSL", f"{memory >> 20} MiB", "/proc/meminfo"),
            Evidence("memory of the GPU", f"{max(sizes) >> 20} MiB", "NVML"),
        ),
        fixes=(_RAISE,),
    )
