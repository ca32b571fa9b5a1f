from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.driver_packages import TURING
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.driver.branches import (
    UNSUPPORTED_GPU_EXPLAINS,
    known_capability_bound,
    read_refusal_log,
    refusal_confidence,
    refusal_evidence,
    undriven_gpu,
)
from gpudoctor.findings import Problem, Problems, Rung, Severity

_REFUSAL = r"not supported by open nvidia\.ko|supported through the NVIDIA .{0,40} Legacy drivers"


@rule("GD211", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, explains=UNSUPPORTED_GPU_EXPLAINS)
@advises(lambda machine: (update_driver(machine, title="Install a driver that supports this GPU", flavour="proprietary", older=True),))
def driver_too_new_for_gpu(gpu: GpuView) -> Problems:
    """Driver no longer supports the GPU."""
    found = undriven_gpu(gpu)
    if found is None:
        return
    refused = refusal_evidence(gpu, _REFUSAL)
    dropped = found.oldest is not None and found.capability < found.oldest
    open_only = found.flavour == "open" and found.capability < TURING
    if not refused and not dropped and not open_only:
        known_capability_bound(found.oldest)
        return
    if dropped:
        reason = f"branch {found.branch} supports compute capability {found.oldest} and newer"
    elif open_only or any("open" in line.value for line in refused):
        reason = "the open kernel modules support no GPU before Turing (7.5)"
    else:
        reason = "the kernel log says that it needs a legacy driver"
    flavour = "" if dropped else "proprietary"
    yield Problem(
        message=f"Driver {found.driver} does not support {found.name}: {reason}.",
        confidence=refusal_confidence(gpu, refused),
        evidence=(*found.evidence, *refused),
        fixes=(
            *read_refusal_log(gpu),
            update_driver(gpu.machine, title="Install a driver that supports this GPU", flavour=flavour, older=True),
        ),
    )
