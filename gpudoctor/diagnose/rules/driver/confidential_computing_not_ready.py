from gpudoctor.derive import MachineView, not_applicable, require_offered
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import ROOT, Evidence, Fix, Problem, Problems, Rung, Severity


@rule("GD223", severity=Severity.ERROR, breaks=Rung.LIBCUDA)
@explains(CUDA_FAILS, "cuInit returns 802 until the GPUs are set to ready.")
def confidential_computing_not_ready(machine: MachineView) -> Problems:
    """Confidential computing is on, but the GPUs are not set to ready."""
    nvml = machine.nvml
    if not require_offered(nvml.confidential, Rung.NVML):
        not_applicable("confidential computing is off")
    if require_offered(nvml.confidential_ready, Rung.NVML):
        return
    title, command = "Attest the GPUs, then set them to ready", "sudo nvidia-smi conf-compute -srs 1"
    if machine.site.container:
        title, command = f"{title}, in the VM that the container runs on.", ""
    yield Problem(
        message="Confidential computing is on, but the GPUs are not set to ready and accept no work.",
        evidence=(Evidence("GPUs ready state", "not ready", "nvmlSystemGetConfComputeGpusReadyState"),),
        fixes=(Fix(title, command, (ROOT,)),),
    )
