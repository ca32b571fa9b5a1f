"""GD8: a GPU's NVLinks and its place in the fabric: health that NVML reports, errors that are counted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.derive.fabric import fabric_of, flaws, in_rack
from gpudoctor.diagnose.fixes import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import as_evidence, known, logged, offered, reset
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, LinkCount, Missing, NvLink, NvmlGpu

NVLINK_XIDS = (74, *range(144, 151))
"""An NVLink error, of links before NVLink 5 and from it on, by NVIDIA's catalogue."""
TELLING = {
    "replays", "recoveries", "crc_errors", "malformed_packet_errors", "buffer_overrun_errors", "rcv_errors", "rcv_remote_errors",
    "rcv_general_errors", "local_link_integrity_errors", "link_recovery_failed_events", "link_recovery_events", "effective_errors",
}  # fmt: skip
"""Counters that stand still on a good link. Symbol errors, which the link corrects, and discarded packets are not among them."""
_FAILED = "link_recovery_failed_events"


@rule("GD808", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
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


def _links(gpu: Gpu) -> Fix:
    look = f"nvidia-smi nvlink --status -i {gpu.key} && nvidia-smi nvlink -e -i {gpu.key}"
    return Fix("Look at the links and their errors", look, kind=FixKind.CHECK)


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


@rule("GD810", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def nvlink_errors(gpu: Gpu, log: KernelLog | Missing, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """NVLink error counters rise, or the driver logged NVLink errors.

    ## Why it matters
    A good link counts no errors. CRC errors and replays cost bandwidth, recoveries stop the link for a while, and a recovery that fails
    ends every program that uses it (Xid 74; 144 to 150 from NVLink 5 on). A training over several GPUs then slows down, hangs or ends.

    The counters are read twice while the machine is examined. Old counts that do not grow are not reported.

    ## What to do
    Reset the GPUs. If errors come back on the same link, reseat the module or bridge; then the card, the cable or the switch is at fault.

    ## References
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    told = logged(gpu, log, *NVLINK_XIDS)
    links = gpu.nvml.nvlinks if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
    if not told:
        offered(known(gpu).nvlinks)
    seen = links if isinstance(links, tuple) else ()
    rising = {f"link {link.link}: {one.name} +{one.count}": "while the machine was examined" for link in seen for one in _telling(link)}
    failed = {f"link {link.link}: {one.count} failed recoveries": "since the driver was loaded" for link in seen for one in _failures(link)}
    if rising or failed or told:
        counted = "; ".join([*rising, *failed])
        yield Problem(
            message=f"{gpu.label}: {counted or f'the driver logged NVLink errors (Xid {told[-1].code})'}.",
            severity=None if rising or failed or not ladder.proven(gpu.key, Rung.KERNEL_RAN) else Severity.NOTE,
            confidence=Confidence.CERTAIN if rising or failed else Confidence.LIKELY,
            evidence=(*(Evidence(what, when, "NVML") for what, when in {**rising, **failed}.items()), *as_evidence(told, log)),
            fixes=(_links(gpu), reset(gpu, site), _RESEAT),
        )
    for link in seen:
        if link.active is True:
            offered(link.grown)
        else:
            need(link.active, Rung.NVML)


_RESEAT = Fix("Reseat the module or NVLink bridge; then have card, cable or switch replaced.", kind=FixKind.ELSE)


def _telling(link: NvLink) -> list[LinkCount]:
    return [one for one in link.grown if one.name in TELLING] if isinstance(link.grown, tuple) else []


def _failures(link: NvLink) -> list[LinkCount]:
    return [one for one in link.errors if one.name == _FAILED] if isinstance(link.errors, tuple) else []


RULES = (fabric_unhealthy, nvlink_errors)
