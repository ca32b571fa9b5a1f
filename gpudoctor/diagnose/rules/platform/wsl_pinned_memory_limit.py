from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import NvmlGpu

_RAISE_MEMORY = Fix("Raise memory= in the section [wsl2] of %UserProfile%\\.wslconfig, then restart WSL (in PowerShell: wsl --shutdown).")


@rule("GD311", severity=Severity.NOTE, breaks=Rung.TRAINED, domain=Domain.DRIVER, predicts=False)
def wsl_pinned_memory_limit(machine: MachineView) -> Problems:
    """WSL 2 has less memory than the GPU, and can pin only part of it."""
    memory = require_known(machine.wsl2.memory)
    totals = [gpu.nvml.memory_total for gpu in machine.hardware if isinstance(gpu.nvml, NvmlGpu)]
    sizes = [total for total in totals if isinstance(total, int)]
    if not sizes:
        not_applicable("the memory of no GPU is known")
    if memory >= max(sizes):
        return
    yield Problem(
        message=f"WSL has {memory / GIB:.1f} GiB of memory and its GPU {max(sizes) / GIB:.1f} GiB, so pinned memory is scarce.",
        evidence=(
            Evidence("memory of WSL", f"{memory / GIB:.1f} GiB", "/proc/meminfo"),
            Evidence("memory of the GPU", f"{max(sizes) / GIB:.1f} GiB", "NVML"),
        ),
        fixes=(_RAISE_MEMORY,),
    )
