from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.diagnose.rules.multi_gpu.fabric import RESTART_MANAGER, manager_evidence, read_manager_log
from gpudoctor.findings import Confidence, Domain, Fix, FixKind, Problem, Problems, Rung, Severity


@rule("GD811", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.DRIVER)
@explains(
    ("gpu-missing-from-cuda", "cuda-init-fails", *TRAINING_FAILS), "cuInit fails with 802 until the GPUs have registered with the fabric."
)
@explains(("nvlink-inactive",), "NVLinks come up while the fabric is set up.")
@explains(("required-gpus-missing",), "CUDA cannot use any GPU of the fabric yet.")
def fabric_not_ready(machine: MachineView) -> Problems:
    """NVLink fabric is not ready, although the fabric manager is running."""
    fabric = machine.fabric
    if not require_known(fabric.manager.running):
        not_applicable("the fabric manager is not running")
    if not fabric.unready_evidence:
        return
    yield Problem(
        message=f"NVLink fabric ({fabric.attachment}) is not ready, although the fabric manager is running: {fabric.unready_evidence[-1].value}.",
        confidence=Confidence.LIKELY,
        evidence=(*fabric.unready_evidence, *manager_evidence(fabric, "running")),
        fixes=(
            Fix("Wait until the fabric is ready, up to five minutes", "gpudoctor check --wait 300", kind=FixKind.CHECK),
            read_manager_log("Read the fabric manager's log"),
            RESTART_MANAGER,
        ),
    )
