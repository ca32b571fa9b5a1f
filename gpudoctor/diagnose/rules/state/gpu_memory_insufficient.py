from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.batches import largest_batches
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.advice.system import LIST_GPU_USERS, end_processes
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import GpuProcess, Missing, NvmlGpu
from gpudoctor.status_codes import CudaError


@rule("GD711", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, predicts=False, seen_at=Level.TOUCH)
@explains(TRAINING_FAILS, "A framework needs more GPU memory than a CUDA context.")
def gpu_memory_insufficient(gpu: GpuView) -> Problems:
    """Too little free GPU memory for a CUDA context."""
    call = gpu.failed_call
    if call is None or call.status.code != CudaError.OUT_OF_MEMORY:
        return
    yield Problem(
        message=f"{gpu.label} is out of memory: {call.call} returns 2 ({call.status.name}){_free_memory_clause(gpu)}.",
        evidence=(
            Evidence(call.call, f"{call.status.code} {call.status.name}", "gpudoctor's kernel"),
            *_process_evidence(gpu),
            *largest_batches(gpu),
        ),
        fixes=_fixes(gpu),
    )


def _free_memory_clause(gpu: GpuView) -> str:
    nvml = gpu.observed.nvml
    if isinstance(nvml, Missing) or isinstance(nvml.memory_total, Missing) or isinstance(nvml.memory_free, Missing):
        return ""
    return f", with {nvml.memory_free / GIB:.1f} of {nvml.memory_total / GIB:.1f} GiB free"


def _compute_processes(gpu: GpuView) -> tuple[GpuProcess, ...] | None:
    """Return the GPU's compute processes; None where NVML does not list them."""
    nvml = gpu.observed.nvml
    return nvml.compute_processes if isinstance(nvml, NvmlGpu) and isinstance(nvml.compute_processes, tuple) else None


def _process_evidence(gpu: GpuView) -> tuple[Evidence, ...]:
    processes = _compute_processes(gpu)
    if processes is None:
        return ()
    pids = ", ".join(str(process.pid) for process in processes)
    return (Evidence("compute processes", pids or "none listed", "NVML"),)


def _fixes(gpu: GpuView) -> tuple[Fix, ...]:
    end = end_processes(_compute_processes(gpu) or (), gpu.machine.site)
    return LIST_GPU_USERS, end or Fix("End the processes that hold the GPU's memory, or use another GPU.", action=Action.FREE_GPU)
