from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.advice.system import set_default_mode
from gpudoctor.diagnose.rule import CUDA_FAILS, Join, explains, rule
from gpudoctor.findings import Domain, Evidence, Problem, Problems, Rung, Severity


@rule("GD706", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, domain=Domain.DRIVER)
@explains(("gpu-missing-from-cuda",), "CUDA does not list a GPU whose compute mode is prohibited.", Join.GPU)
@explains(CUDA_FAILS, "The driver allows no context on a GPU whose compute mode is prohibited.")
def compute_prohibited(gpu: GpuView) -> Problems:
    """GPU is in prohibited compute mode."""
    if gpu.compute_mode != "prohibited":
        return
    if gpu.hidden:
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    yield Problem(
        message=f"{gpu.label} is in prohibited compute mode: no CUDA program can use it.",
        evidence=(Evidence("compute mode", "prohibited", "nvmlDeviceGetComputeMode"),),
        fixes=(set_default_mode(gpu),),
    )
