import re

from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.driver_packages import BLACKWELL
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.driver.branches import LEFT_ALONE, UndrivenGpu, confidence, known_bound, read_refusal, refusal, undriven
from gpudoctor.findings import Problem, Problems, Rung, Severity
from gpudoctor.versions import Version

_NEEDS_OPEN = r"requires use of the NVIDIA open kernel modules"
_GRACE_HOPPER = r"\bGH\d{3}\b"
_UNKNOWN = r"not supported by the NVIDIA [\d.]+ driver release"


@rule("GD212", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, explains=LEFT_ALONE)
@advises(lambda machine: (update_driver(machine, title="Install the driver", flavour="open"),))
def gpu_too_new_for_driver(gpu: GpuView) -> Problems:
    """GPU is too new for the driver."""
    found = undriven(gpu)
    if found is None:
        return
    refused = refusal(gpu, f"{_NEEDS_OPEN}|{_UNKNOWN}")
    unknown = found.newest is not None and found.capability > found.newest
    needs_open = (found.flavour == "proprietary" and _needs_open(found)) or bool(refusal(gpu, _NEEDS_OPEN))
    if not refused and not unknown and not needs_open:
        known_bound(found.newest)
        return
    first, _ = gpu.machine.matrix.branches_for(found.capability)
    floor = Version(first, text=str(first)) if unknown and first else None
    if unknown:
        reason = f"branch {found.branch} supports compute capability {found.newest} and older"
    else:
        reason = "the GPU needs the open kernel modules" if needs_open else "the kernel log says so"
    title = "" if floor else "Install the driver"
    yield Problem(
        message=f"Driver {found.driver} does not support {found.name}: {reason}.",
        confidence=confidence(gpu, refused),
        evidence=(*found.evidence, *refused),
        fixes=(*read_refusal(gpu), update_driver(gpu.machine, floor, title=title, flavour="open" if needs_open else "")),
    )


def _needs_open(found: UndrivenGpu) -> bool:
    """Return whether only the open kernel modules support a GPU; those of Grace Hopper have the compute capability of H100, which both support."""
    return found.capability >= BLACKWELL or re.search(_GRACE_HOPPER, found.name) is not None
