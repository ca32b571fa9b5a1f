from gpudoctor.derive import MachineView
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity


@rule("GD310", severity=Severity.NOTE, breaks=Rung.TRAINED, domain=Domain.DRIVER, predicts=False)
@explains(("all-reduce-failed",), "NCCL cannot use CUDA's inter-process handles in WSL 2.")
def wsl_multi_gpu_limit(machine: MachineView) -> Problems:
    """GPUs in WSL 2 exchange data only through host memory."""
    gpus = len(machine.hardware) if machine.wsl2 else 0
    if gpus < 2:
        return
    yield Problem(
        message=f"{gpus} GPUs in WSL 2 exchange data through host memory, which is slower than on native Linux.",
        evidence=(Evidence("GPUs", str(gpus), "NVML, CUDA"),),
        fixes=(Fix("If several processes hang in NCCL", "export NCCL_P2P_DISABLE=1"),),
    )
