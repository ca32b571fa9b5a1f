"""GD102: gpu-count-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.kernel_facts import is_free_driver
from gpudoctor.diagnose.rule import CouldNotTell, Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.hardware import _back, _holder, _kernel_says
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, Missing, Nvml, NvmlGpu, PciDevice, ProcGpu, Status


@rule(
    "GD102",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gpu_count_mismatch(gpu: Gpu, nvml: Nvml, site: Site, ladder: Ladder) -> Iterator[Problem]:
    """NVML does not open every GPU of this machine.

    ## Why it matters
    The PCI bus, CUDA, or the driver itself shows a GPU that NVML does not open: it fell off the bus, its driver failed to start it, or
    another driver holds it. Programs that expect all GPUs will fail or use fewer than they think. Its siblings are not affected.

    A GPU that CUDA lists and NVML does not can be trained on, so that is a warning: nvidia-smi and every monitor overlook it.

    In a container the PCI bus is the host's; there only GPUs with a device node of their own are counted.

    ## What to do
    Read the kernel's log about this address. A GPU that fell off the bus (Xid 79) comes back with a cold boot, or does not: then
    suspect power, riser, slot or card. Do not change the driver while identical siblings work.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    if isinstance(nvml.init, Status) and nvml.init.code:
        raise CouldNotTell(Missing(Cause.FAILED, f"NVML did not start: {nvml.init.name}"), Rung.NVML)
    listed = need(nvml.gpus, Rung.NVML)
    if gpu.set_aside:
        not_applicable("bound to vfio-pci: set aside for a guest")
    if isinstance(gpu.pci, PciDevice) and is_free_driver(gpu.pci):
        not_applicable(f"{gpu.pci.driver} holds it")
    if isinstance(gpu.proc, ProcGpu) and gpu.proc.excluded is True:
        not_applicable("the driver was told to leave it alone (NVreg_ExcludedGpus)")
    opened = sum(isinstance(one.address, str) for one in listed)
    if isinstance(gpu.nvml, NvmlGpu):
        if isinstance(gpu.nvml.address, str):
            return
        if gpu.nvml.address.cause in {Cause.TIMED_OUT, Cause.NOT_STATED}:
            need(gpu.nvml.address, Rung.NVML)
        seen = f"NVML counts it and cannot open it: {gpu.nvml.address.reason}"
    else:
        seen = "NVML does not list it"
    usable = ladder.proven(gpu.key, Rung.LIBCUDA)
    yield Problem(
        message=f"{gpu.label}: {seen}; {opened} other {'GPU is' if opened == 1 else 'GPUs are'} open."
        + (" CUDA lists it." if usable else ""),
        severity=Severity.WARNING if usable else None,
        evidence=(
            Evidence("NVML", seen, "libnvidia-ml.so.1"),
            Evidence("kernel driver bound", _bound(gpu), f"/sys/bus/pci/devices/{gpu.key}/driver"),
        ),
        fixes=(Fix("Restart the container; if the GPU stays away, look for it on the host."),)
        if site.container
        else (_kernel_says(gpu), _SAME_DRIVER, reboot())
        if usable
        else _back(gpu),
    )


_SAME_DRIVER = Fix(
    "Find out whether NVML and CUDA are of one driver release", "ldconfig -p | grep -E 'libcuda.so|libnvidia-ml.so'", kind=FixKind.CHECK
)


def _bound(gpu: Gpu) -> str:
    return _holder(gpu.pci) if isinstance(gpu.pci, PciDevice) else f"not known ({gpu.pci.reason})"
