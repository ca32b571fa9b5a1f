import re

from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.driver_packages import BLACKWELL
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.driver.branches import (
    UNSUPPORTED_GPU_EXPLAINS,
    UndrivenGpu,
    known_capability_bound,
    read_refusal_log,
    refusal_confidence,
    refusal_evidence,
    undriven_gpu,
)
from gpudoctor.findings import Problem, Problems, Rung, Severity
from gpudoctor.versions import Version

_NEEDS_OPEN_MODULES = r"requires use of the NVIDIA open kernel modules"
_GRACE_HOPPER = r"\bGH\d{3}\b"
_UNKNOWN_GPU = r"not supported by the NVIDIA [\d.]+ driver release"


@rule("GD212", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, explains=UNSUPPORTED_GPU_EXPLAINS)
@advises(lambda machine: (update_driver(machine, title="Install the driver", flavour="open"),))
def gpu_too_new_for_driver(gpu: GpuView) -> Problems:
    """GPU is too new for the driver."""
    found = undriven_gpu(gpu)
    if found is None:
        return
    refused = refusal_evidence(gpu, f"{_NEEDS_OPEN_MODULES}|{_UNKNOWN_GPU}")
    needs_open = (found.flavour == "proprietary" and _needs_open_modules(found)) or bool(refusal_evidence(gpu, _NEEDS_OPEN_MODULES))
    if not refused and not found.is_too_new and not needs_open:
        known_capability_bound(found.newest)
        return
    first, _ = gpu.machine.matrix.branches_for(found.capability)
    floor = Version(first, text=str(first)) if found.is_too_new and first else None
    if found.is_too_new and found.newest is not None and found.capability <= found.newest:
        reason = f"branch {found.branch} does not support compute capability {found.capability}"
    elif found.is_too_new:
        reason = f"branch {found.branch} supports compute capability {found.newest} and older"
    else:
        reason = "the GPU needs the open kernel modules" if needs_open else "the kernel log says so"
    title = "" if floor else "Install the driver"
    yield Problem(
        message=f"Driver {found.driver} does not support {found.name}: {reason}.",
        confidence=refusal_confidence(gpu, refused),
        evidence=(*found.evidence, *refused),
        fixes=(*read_refusal_log(gpu), update_driver(gpu.machine, floor, title=title, flavour="open" if needs_open else "")),
    )


def _needs_open_modules(found: UndrivenGpu) -> bool:
    """Return whether only the open kernel modules support a GPU; those of Grace Hopper have the compute capability of H100, which both support."""
    return found.capability >= BLACKWELL or re.search(_GRACE_HOPPER, found.name) is not None
