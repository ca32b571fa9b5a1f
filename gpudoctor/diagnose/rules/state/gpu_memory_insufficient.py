"""GD711: gpu-memory-insufficient."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.system import end_processes
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import CudaContext, Missing, NvmlGpu

_OUT_OF_MEMORY = 2


_GIB = 1 << 30


@rule(
    "GD711",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_RAN,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    seen_at=Level.TOUCH,
    explains=(Explains(TRAINING_FAILS, ""),),
)
def gpu_memory_insufficient(gpu: Gpu, context: CudaContext, site: Site) -> Iterator[Problem]:
    """The GPU has too little free memory even for an empty CUDA program.

    ## Why it matters
    A context takes some hundred MiB of the GPU's memory before a program stores anything. Where that is not left, every framework
    fails with "out of memory" (error 2), however small the model.

    ## What to do
    Find who holds the memory and end it, or wait, or take another GPU. Processes in other containers or of other users may not be
    listed to you; the memory in use is.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    call = failed_call(context)
    if call is None or call.status.code != _OUT_OF_MEMORY:
        if call is None:
            need(context.kernel_right, Rung.KERNEL_RAN)
        return
    yield Problem(
        message=f"{gpu.label}: {call.call} answers 2 ({call.status.name}){_memory(gpu)}.",
        evidence=(Evidence(call.call, f"{call.status.code} {call.status.name}", "our own kernel"), *_holders(gpu)),
        fixes=_free(gpu, site),
    )


def _free(gpu: Gpu, site: Site) -> tuple[Fix, ...]:
    holders = gpu.nvml.compute_processes if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.compute_processes, tuple) else ()
    end = end_processes(holders, site)
    return (
        Fix("See who has the GPU open", "sudo fuser -v /dev/nvidia*", (ROOT,), kind=FixKind.CHECK),
        end or Fix("End the processes that hold the GPU's memory, or use another GPU."),
    )


def _memory(gpu: Gpu) -> str:
    if not isinstance(gpu.nvml, NvmlGpu) or isinstance(gpu.nvml.memory_total, Missing) or isinstance(gpu.nvml.memory_free, Missing):
        return ""
    return f"; {gpu.nvml.memory_free / _GIB:.1f} of {gpu.nvml.memory_total / _GIB:.1f} GiB are free"


def _holders(gpu: Gpu) -> tuple[Evidence, ...]:
    if not isinstance(gpu.nvml, NvmlGpu) or isinstance(gpu.nvml.compute_processes, Missing):
        return ()
    pids = ", ".join(str(process.pid) for process in gpu.nvml.compute_processes)
    return (Evidence("processes that compute on it", pids or "none is listed", "NVML"),)
