"""GD803: nvlink-inactive."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Hardware, Site
from gpudoctor.derive.fabric import fabric_of, switches
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.gpu_facts import known, links_up, offered, reset
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, Pci


@rule(
    "GD803",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(Explains(("all-reduce-failed",), ""),),
)
def nvlink_inactive(gpu: Gpu, hardware: Hardware, pci: Pci | Missing, site: Site) -> Iterator[Problem]:
    """NVLinks of this GPU are down that are up on its siblings, or that lead to an NVSwitch.

    ## Why it matters
    Trainings over several GPUs then talk over fewer links, or over PCIe at a tenth of the speed, or hang. A card with NVLinks and
    without a bridge has all of them down: that is normal and not reported.

    ## What to do
    Look at the links. One that is down on one GPU only is a bad bridge, a loose module or the card; reset or reboot first. Where all are
    down on a machine with NVSwitches, its fabric manager does not run.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    seen = known(gpu)
    links = offered(seen.nvlinks)
    if seen.mig_enabled is True:
        not_applicable("MIG: instances do not use NVLink")
    down = [str(link.link) for link in links if link.active is False]
    most = max((links_up(other) for other in hardware if other.name == gpu.name), default=0)
    switched = bool(switches(pci)) or fabric_of(gpu) is not None
    if down and (links_up(gpu) < most or switched):
        yield Problem(
            message=f"{gpu.label}: {len(down)} of {len(links)} NVLinks are down"
            + (f"; a sibling has {most} up." if links_up(gpu) < most else "."),
            confidence=Confidence.CERTAIN if switched else Confidence.LIKELY,
            evidence=(
                Evidence("NVLinks down", ", ".join(down), "nvmlDeviceGetNvLinkState"),
                *((Evidence("NVLink fabric", "NVSwitches join the GPUs", "PCI bus, NVML"),) if switched else ()),
            ),
            fixes=(
                Fix(
                    "Look at the links and their errors",
                    f"nvidia-smi nvlink --status -i {gpu.key} && nvidia-smi nvlink -e -i {gpu.key}",
                    kind=FixKind.CHECK,
                ),
                read_log("NVRM|Xid|NVLink", "Read what the kernel says of them (Xid 74)"),
                Fix("Restart the fabric manager, which trains the links again", "sudo systemctl restart nvidia-fabricmanager", (ROOT,))
                if switched
                else reset(gpu, site),
                Fix("Reseat the NVLink bridge or the module; then have the card examined.", needs=(ROOT, REBOOT), kind=FixKind.ELSE),
            ),
        )
    for link in links:
        need(link.active, Rung.NVML)
