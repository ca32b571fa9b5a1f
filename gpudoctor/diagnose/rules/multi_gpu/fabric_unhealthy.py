"""GD808: fabric-unhealthy."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu
from gpudoctor.derive.fabric import fabric_of, flaws, in_rack
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import _links
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing


@rule(
    "GD808",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(("all-reduce-failed",), ""),
        Explains(("nvlink-inactive",), "", Join.GPU),
    ),
)
def fabric_unhealthy(gpu: Gpu) -> Iterator[Problem]:
    """NVML reports that the GPU's connection to the NVLink fabric is unhealthy.

    ## Why it matters
    A GPU on a fabric reports reduced bandwidth, an unhealthy route, a recovery in progress, or a wrong configuration. A training over
    several GPUs is then slow, hangs or fails; one on this GPU alone is not affected. A GPU whose registration failed is of no use to CUDA.

    ## What to do
    A recovery in progress ends by itself. For the rest look at the links, reset the GPUs, and have the fabric's operator check switch,
    partition and cabling. Incompatible firmware needs an update.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """
    offered(known(gpu).fabric)
    fabric = fabric_of(gpu)
    if fabric is None:
        not_applicable("not attached to a fabric")
    found = flaws(fabric)
    failed = fabric.state == "completed" and bool(fabric.status)
    if found:
        health = f"0x{fabric.health:x}" if isinstance(fabric.health, int) else "not told"
        yield Problem(
            message=f"{gpu.label}: {', '.join(found)}.",
            severity=Severity.ERROR if failed else None,
            evidence=(Evidence("fabric health", f"mask {health}, state {fabric.state}", "nvmlDeviceGetGpuFabricInfoV"),),
            fixes=(_links(gpu), *_remedies(found, gpu)),
        )
    elif isinstance(fabric.health, Missing):
        offered(fabric.health)


_RESET = Fix("Reset all GPUs of the fabric, with no program running", "sudo nvidia-smi --gpu-reset", (ROOT,))


def _remedies(found: tuple[str, ...], gpu: Gpu) -> Iterator[Fix]:
    text = " ".join(found)
    if all("in progress" in one for one in found):
        yield Fix("Wait a minute, then look whether the recovery has ended", "nvidia-smi -q | grep -A12 Fabric", kind=FixKind.CHECK)
        yield _RESET
        return
    elif "firmware" in text:
        yield Fix("Update the firmware of the GPU baseboard to the release that the driver needs.", needs=(ROOT, REBOOT))
    elif in_rack(gpu) or any(word in text for word in ("partition", "chassis", "GUID", "location")):
        yield Fix("Have the fabric's operator check routes, partition and chassis settings on the switches (NMX-Controller).")
    else:
        yield Fix("Restart the fabric manager with no program running", "sudo systemctl restart nvidia-fabricmanager", (ROOT,))
    yield msgspec.structs.replace(_RESET, kind=FixKind.ELSE)
