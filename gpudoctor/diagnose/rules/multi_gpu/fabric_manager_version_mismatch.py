from gpudoctor import versions
from gpudoctor.derive import MachineView, require_known
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.diagnose.rules.multi_gpu.fabric import install_manager, last_error_evidence
from gpudoctor.findings import Domain, Evidence, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing


@rule("GD802", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.DRIVER)
@explains(("fabric-manager-missing", "fabric-not-ready"), "The fabric manager refuses to start with another driver version.")
@explains(("gpu-missing-from-cuda", "cuda-init-fails", *TRAINING_FAILS), "Without the fabric manager cuInit fails with 802 on every GPU.")
@explains(("nvlink-inactive",), "The fabric manager trains the NVLinks to the switches.")
@explains(("required-gpus-missing",), "CUDA cannot use any GPU of the fabric.")
def fabric_manager_version_mismatch(machine: MachineView) -> Problems:
    """Fabric manager and driver have different versions."""
    fabric = machine.fabric
    driver = machine.driver
    stated = require_known(fabric.manager.version)
    version = versions.parse_version(stated.value)
    if version is None or version == driver.version:
        return
    waiting = fabric.unready_evidence_or_missing
    yield Problem(
        message=f"Fabric manager {version} does not match driver {driver.version}.",
        severity=Severity.WARNING if isinstance(waiting, Missing) or not waiting else None,
        evidence=(
            Evidence("fabric manager version", stated.value, stated.where),
            Evidence("driver version", str(driver.version), driver.where),
            *last_error_evidence(fabric),
        ),
        fixes=(install_manager(machine),),
    )
