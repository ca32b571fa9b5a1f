import msgspec

from gpudoctor.derive import GpuView, not_applicable, require_known
from gpudoctor.derive.gpus import is_divided_by_mig
from gpudoctor.diagnose.advice.hardware import read_gpu_log, reset_gpu
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import Confidence, Evidence, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import CudaDevice


@rule("GD231", severity=Severity.ERROR, breaks=Rung.LIBCUDA)
@explains(("required-gpus-missing", *TRAINING_FAILS), "No program can use a GPU that CUDA does not list.")
def gpu_missing_from_cuda(gpu: GpuView) -> Problems:
    """GPU is visible to NVML but not to CUDA."""
    machine, index = gpu.machine, gpu.nvml.index
    require_known(gpu.nvml.address, Rung.NVML)
    listed = machine.all_cuda_devices
    if isinstance(gpu.observed.cuda_unmasked, CudaDevice):
        return
    if is_divided_by_mig(machine.hardware):
        not_applicable("CUDA shows this process one MIG instance, on another GPU")
    count = len([require_known(device.address, Rung.LIBCUDA) for device in listed])
    yield Problem(
        message=f"{gpu.label} is visible to NVML but not to CUDA, which lists {count} of {len(machine.hardware)} GPUs.",
        confidence=Confidence.CERTAIN,
        evidence=(Evidence("NVML", f"index {index}", "libnvidia-ml.so.1"), Evidence("CUDA devices", str(count), "cuDeviceGetCount")),
        fixes=(
            read_gpu_log(gpu),
            reset_gpu(gpu),
            *(() if machine.site.container else (msgspec.structs.replace(reboot(), kind=FixKind.ELSE),)),
        ),
    )
