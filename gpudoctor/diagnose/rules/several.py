"""GD8: what matters with several GPUs: the links between them, and whether they are alike."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Hardware, Site
from gpudoctor.derive.fabric import fabric_of, switches
from gpudoctor.diagnose.fixes import REBOOT, ROOT, read_log
from gpudoctor.diagnose.gpu_facts import GIB, known, links_up, offered, reset
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import CudaDevice, Missing, NvmlGpu, Pci


@rule("GD803", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
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


@rule("GD806", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False)
def mixed_gpu_models(hardware: Hardware, site: Site) -> Iterator[Problem]:
    """The GPUs are not all of one model.

    ## Why it matters
    A training over all of them goes at the pace of the slowest and with the memory of the smallest, and a build must hold code for each.
    For a training on one of them it does not matter.

    ## What to do
    Choose alike GPUs with CUDA_VISIBLE_DEVICES; CUDA_DEVICE_ORDER=PCI_BUS_ID makes its numbers those of nvidia-smi.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/
    """
    usable = [gpu for gpu in hardware if isinstance(gpu.cuda, CudaDevice)]
    names = [need(gpu.name, Rung.NVML) for gpu in usable]
    kinds = list(dict.fromkeys(names))
    if len(kinds) < 2:
        return
    counted = ", ".join(f"{names.count(kind)} × {kind}" for kind in kinds)  # noqa: RUF001 -- a cross counts
    sizes = [gpu.nvml.memory_total for gpu in usable if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.memory_total, int)]
    smallest = f", the smallest with {min(sizes) // GIB} GiB" if sizes else ""
    alike = ",".join(str(gpu.cuda.ordinal) for gpu in usable if gpu.name == kinds[0] and isinstance(gpu.cuda, CudaDevice))
    yield Problem(
        message=f"CUDA shows GPUs of {len(kinds)} models: {counted}{smallest}.",
        severity=None if site.scheduler else Severity.NOTE,
        evidence=(Evidence("models", counted, "NVML"),),
        fixes=(Fix(f"Use only those like {kinds[0]}", f"export CUDA_VISIBLE_DEVICES={alike}"),),
    )


RULES = (nvlink_inactive, mixed_gpu_models)
