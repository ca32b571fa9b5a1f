from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.advice.system import set_default_mode
from gpudoctor.diagnose.rule import CUDA_FAILS, Join, explains, rule
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Domain, Evidence, Fix, Problem, Problems, Rung, Severity

_WITHOUT_CUDA = expression(r"-\d{1,2}[AB]$")
"""The end of the name of a vGPU type that runs no CUDA: https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/index.html#cuda-open-cl-support-vgpu"""
_CHANGE_PROFILE = Fix(
    "Give the VM a vGPU type of the C or Q series: those of the A and B series run no CUDA.", action=Action.CONTACT_ADMINISTRATOR
)


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
        fixes=(_CHANGE_PROFILE,) if isinstance(name := gpu.observed.name, str) and _WITHOUT_CUDA.search(name) else (set_default_mode(gpu),),
    )
