from gpudoctor.derive import GpuView, not_applicable, require_known
from gpudoctor.derive.fabric import fabric_of
from gpudoctor.diagnose.advice.hardware import reset_gpu
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import show_links
from gpudoctor.findings import REBOOT, ROOT, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, NvLink

_RETRAIN_LINKS = Fix("Restart the fabric manager; it retrains the links", "sudo systemctl restart nvidia-fabricmanager")
_RESEAT_MODULE = Fix("Reseat the NVLink bridge or the module; then have the vendor check the GPU.", needs=(ROOT, REBOOT), kind=FixKind.ELSE)


@rule("GD803", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False)
@explains(("all-reduce-failed",), "All-reduce runs over the NVLinks.")
def nvlink_inactive(gpu: GpuView) -> Problems:
    """NVLinks are down."""
    if gpu.nvml.mig_enabled is True:
        not_applicable("MIG instances do not use NVLink")
    links = _listed_links(gpu)
    down = [str(link.link) for link in links if link.active is False]
    most = max(other.nvlinks_up for other in gpu.machine.gpus if other.observed.name == gpu.observed.name)
    fewer = gpu.nvlinks_up < most
    switched = bool(gpu.machine.nvswitches) or fabric_of(gpu.observed) is not None
    if not links and switched and fewer:
        yield Problem(
            message=f"{gpu.label}: NVML lists no NVLink; a GPU of the same model has {most} up.",
            evidence=(Evidence("NVLinks", "none", "nvmlDeviceGetNvLinkState"),),
            fixes=(
                show_links(gpu),
                read_log("NVRM|Xid|NVLink", "Read the kernel log for NVLink errors (Xid 74)"),
                reset_gpu(gpu),
                _RESEAT_MODULE,
            ),
        )
    if down and (fewer or switched):
        sibling = f"; a GPU of the same model has {most} up" if fewer else ""
        yield Problem(
            message=f"{gpu.label}: {len(down)} of {len(links)} NVLinks are down{sibling}.",
            confidence=Confidence.CERTAIN if switched else Confidence.LIKELY,
            evidence=(
                Evidence("NVLinks down", ", ".join(down), "nvmlDeviceGetNvLinkState"),
                *((Evidence("NVLink fabric", "NVSwitches connect the GPUs", "PCI bus, NVML"),) if switched else ()),
            ),
            fixes=(
                show_links(gpu),
                read_log("NVRM|Xid|NVLink", "Read the kernel log for NVLink errors (Xid 74)"),
                _RETRAIN_LINKS if switched else reset_gpu(gpu),
                _RESEAT_MODULE,
            ),
        )
    for link in links:
        require_known(link.active, Rung.NVML)


def _listed_links(gpu: GpuView) -> tuple[NvLink, ...]:
    """Return the links that NVML lists, none if it says that the GPU has none; ends the rule if NVML does not say."""
    links = gpu.nvml.nvlinks
    return (
        ()
        if isinstance(links, Missing) and links.cause is Cause.UNSUPPORTED and any(other.nvlinks_up for other in gpu.same_model)
        else gpu.nvlinks
    )
