from gpudoctor.derive import GpuView
from gpudoctor.derive.libcuda import init_code
from gpudoctor.diagnose.rule import CUDA_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.driver.licence_client import LICENCE_CALL, RESTART_CLIENT, read_client_log
from gpudoctor.findings import ROOT, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.status_codes import CudaError

_ADD_TOKEN = Fix("Copy the client token to /etc/nvidia/ClientConfigToken, then restart nvidia-gridd.", needs=(ROOT,), kind=FixKind.ELSE)


@rule("GD222", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, impact=Impact.PARTLY, predicts=False)
@advises(RESTART_CLIENT, read_client_log("Read why it has no licence"), _ADD_TOKEN)
@explains(("gpu-missing-from-cuda",), "CUDA does not list a virtual GPU whose grace period has ended.", Join.GPU)
@explains(CUDA_FAILS, "Without a licence a virtual GPU slows down and finally refuses CUDA.")
def vgpu_unlicensed(gpu: GpuView) -> Problems:
    """Virtual GPU has no licence."""
    refused = init_code(gpu.machine.observed.libcuda) == CudaError.DEVICE_NOT_LICENSED
    for licence in gpu.vgpu_licences:
        if not licence.enabled or licence.licensed:
            continue
        effect = "CUDA does not start" if refused else "it will slow down, then refuse CUDA"
        yield Problem(
            message=f"{gpu.label} has no vGPU licence for {licence.product}: {effect}.",
            severity=None if refused else Severity.WARNING,
            evidence=(Evidence(licence.product, "unlicensed", LICENCE_CALL),),
        )
