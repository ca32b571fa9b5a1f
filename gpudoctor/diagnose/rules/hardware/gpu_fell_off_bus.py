from gpudoctor.derive import GpuView
from gpudoctor.derive.lost_gpus import all_ones_evidence, is_lost_under_load
from gpudoctor.derive.xids import OFF_THE_BUS
from gpudoctor.diagnose.advice.hardware import SUSPECT_HARDWARE, last_xid, recover_gpu
from gpudoctor.diagnose.advice.system import power_cycle
from gpudoctor.diagnose.rule import CUDA_FAILS, GPU_NOT_OPENED, Join, advises, explains, rule
from gpudoctor.findings import Confidence, Evidence, Problem, Problems, Rung, Severity
from gpudoctor.status_codes import NvmlError


@rule("GD103", severity=Severity.ERROR, breaks=Rung.NVML, predicts=False)
@advises(power_cycle(), SUSPECT_HARDWARE)
@explains(GPU_NOT_OPENED, "NVML and CUDA cannot open a GPU that is off the bus.", Join.GPU)
@explains(CUDA_FAILS, "With one GPU off the bus, cuInit often fails for all GPUs, and training stops.")
@explains(("uvm-broken-after-suspend", "uvm-not-loaded"), "cuInit then fails with error 999, which also points to nvidia_uvm.")
@explains(("nvlink-inactive", "all-reduce-failed"), "NVLinks to a GPU off the bus are down.")
def gpu_fell_off_bus(gpu: GpuView) -> Problems:
    """GPU has fallen off the bus."""
    signs, vanished = gpu.off_bus_evidence, gpu.has_vanished
    if not signs and not vanished:
        return
    several = len(signs) + len(gpu.xids(OFF_THE_BUS)) > 1 or any(all_ones_evidence(gpu.observed))
    why = _sign_text(signs[0]) if signs else "NVML no longer lists it, and the kernel logged Xid 79"
    yield Problem(
        message=f"{gpu.label} has fallen off the bus ({why}).",
        severity=None if is_lost_under_load(gpu.observed) else gpu.error_unless_kernel_ran,
        confidence=Confidence.CERTAIN if several or vanished else Confidence.LIKELY,
        evidence=(*signs, *last_xid(gpu, OFF_THE_BUS)),
        fixes=recover_gpu(gpu),
    )


def _sign_text(sign: Evidence) -> str:
    """Return a sign without the name of the call that gave it, which is evidence."""
    if sign.what != "NVML":
        return f"{sign.what}: {sign.value}"
    return sign.value if sign.value.startswith("nvidia-smi") else f"NVML error {NvmlError.GPU_IS_LOST.value}, GPU is lost"
