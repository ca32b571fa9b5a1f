from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.advice.batches import largest_batches
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.advice.system import LIST_GPU_USERS, end_processes, process_names
from gpudoctor.diagnose.rule import GPU_IS_SLOW, TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import ROOT, Action, Confidence, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import GpuProcess

TOO_LITTLE_MEMORY = GIB // 2
"""Free GPU memory in bytes below which not even a framework's context and libraries fit."""
NEEDED_MEMORY = 2 * GIB
"""GPU memory in bytes that a small training run needs: mostly context, kernels and library workspaces, whatever the model."""
_FREE_MEMORY = Fix(
    "End the processes that hold the GPU's memory; reset the GPU to free what a dead process holds.",
    needs=(ROOT,),
    action=Action.FREE_GPU,
)


@rule("GD709", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(TRAINING_FAILS, "Without enough GPU memory, training ends with “out of memory”.")
@explains(("gpu-memory-insufficient",), "Other processes hold the memory that a CUDA context needs.", Join.GPU)
@explains(GPU_IS_SLOW, "Processes that hold memory usually compute too.", Join.GPU)
def gpu_memory_held_by_other_process(gpu: GpuView) -> Problems:
    """Other processes use most of the GPU's memory."""
    nvml = gpu.nvml
    if nvml.mig_enabled is True:
        not_applicable("MIG is on, and its instances have memory of their own")
    if gpu.hidden:
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    if gpu.observed.integrated:
        not_applicable("an integrated GPU uses the host's memory")
    free, used, total = gpu.memory_free, gpu.memory_used, gpu.memory_total
    if free >= NEEDED_MEMORY:
        return
    compute = gpu.compute_processes
    if used - _graphics_memory(gpu, compute) < NEEDED_MEMORY - free:
        not_applicable("ending other processes would not free enough memory")
    holders = process_names(compute)
    yield Problem(
        message=f"{gpu.label} has {free / GIB:.1f} of {total / GIB:.1f} GiB free; {used / GIB:.1f} GiB are used by {holders or 'processes that are not visible here'}.",
        severity=None if free < TOO_LITTLE_MEMORY else gpu.warning_unless_failed,
        confidence=Confidence.CERTAIN if compute else Confidence.LIKELY,
        evidence=(
            Evidence("free and used memory", f"{free / GIB:.1f} GiB, {used / GIB:.1f} GiB", "nvmlDeviceGetMemoryInfo"),
            Evidence("compute processes", holders or "none visible", "NVML"),
            *largest_batches(gpu),
        ),
        fixes=_fixes(gpu, compute),
    )


def _graphics_memory(gpu: GpuView, compute: tuple[GpuProcess, ...]) -> int:
    """Return the bytes that graphics processes hold."""
    graphics = gpu.nvml.graphics_processes
    pids = {process.pid for process in compute}
    drawing = graphics if isinstance(graphics, tuple) else ()
    return sum(process.memory for process in drawing if isinstance(process.memory, int) and process.pid not in pids)


def _fixes(gpu: GpuView, compute: tuple[GpuProcess, ...]) -> tuple[Fix, ...]:
    """Return the fixes that end the known processes, or find unknown ones by the device files that they have open."""
    end = end_processes(compute, gpu.machine.site)
    return (end,) if end is not None else (LIST_GPU_USERS, _FREE_MEMORY)
