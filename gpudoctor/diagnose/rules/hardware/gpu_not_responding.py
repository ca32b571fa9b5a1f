from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import read_gpu_log, reset_gpu
from gpudoctor.diagnose.rule import CUDA_FAILS, GPU_NOT_OPENED, Join, explains, rule
from gpudoctor.findings import Confidence, Problem, Problems, Rung, Severity


@rule("GD130", severity=Severity.ERROR, breaks=Rung.NVML, predicts=False)
@explains(GPU_NOT_OPENED, "Calls that open the GPU fail as well.", Join.GPU)
@explains(CUDA_FAILS, "With one GPU not responding, cuInit often fails for all GPUs, and training stops.")
@explains(("uvm-broken-after-suspend", "uvm-not-loaded"), "cuInit then fails with error 999, which also points to nvidia_uvm.")
@explains(("nvlink-inactive", "all-reduce-failed"), "NVLinks to a GPU that does not respond are down.")
def gpu_not_responding(gpu: GpuView) -> Problems:
    """GPU does not respond to NVML."""
    signs = gpu.unresponsive_evidence
    if signs:
        yield Problem(
            message=f"{gpu.label} does not respond properly ({'; '.join(f'{sign.what}: {sign.value}' for sign in signs)}).",
            severity=gpu.error_unless_kernel_ran,
            confidence=Confidence.LIKELY,
            evidence=signs,
            fixes=(read_gpu_log(gpu), reset_gpu(gpu)),
        )
