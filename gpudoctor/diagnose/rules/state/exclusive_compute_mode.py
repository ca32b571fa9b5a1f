import msgspec

from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.advice.system import end_processes, process_names, set_default_mode
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import GpuProcess

_MPS_SERVER = "nvidia-cuda-mps-server"
_EXCLUSIVE_MODES = ("exclusive-process", "exclusive-thread")


@rule("GD705", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, domain=Domain.DRIVER)
@explains(CUDA_FAILS, "The driver allows no second context while a process has the GPU.")
def exclusive_compute_mode(gpu: GpuView) -> Problems:
    """GPU is in exclusive-process mode."""
    mode = gpu.compute_mode
    if mode not in _EXCLUSIVE_MODES:
        return
    if gpu.hidden:
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    processes = gpu.compute_processes
    shared = any(process.name == _MPS_SERVER for process in processes)
    holders = process_names(processes)
    evidence = [Evidence("compute mode", mode, "nvmlDeviceGetComputeMode")]
    if holders:
        evidence.append(Evidence("compute processes", holders, "NVML"))
    yield Problem(
        message=f"{gpu.label} is in {mode} mode (one process at a time), {f'in use by {holders}' if holders else 'currently free'}.",
        severity=None if holders and not shared else Severity.NOTE,
        evidence=tuple(evidence),
        fixes=_fixes(gpu, () if shared else processes),
    )


def _fixes(gpu: GpuView, processes: tuple[GpuProcess, ...]) -> tuple[Fix, ...]:
    """Return the fixes that let any number of programs use the GPU, or end the process that has it."""
    end = end_processes(processes, gpu.machine.site)
    return (set_default_mode(gpu), *((msgspec.structs.replace(end, kind=FixKind.INSTEAD),) if end else ()))
