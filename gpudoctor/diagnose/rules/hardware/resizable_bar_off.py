"""GD145: resizable-bar-off."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.needs import REBOOT
from gpudoctor.diagnose.gpu_facts import GIB, MIB, known, offered
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind

SMALL = 256 * MIB
"""The size of BAR1 that cards without resizable BAR have, as Microsoft's page on resizable BAR gives it for discrete GPUs."""


LARGE = 4 * GIB
"""A card with no more memory than this is small itself: its window is no choice of the firmware's."""


@rule("GD145", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def resizable_bar_off(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """The CPU reaches only a small part of the GPU's memory at a time: resizable BAR is off.

    ## Why it matters
    Through BAR1 the CPU, other GPUs and network cards reach the GPU's memory. With 256 MiB of it large copies from other devices
    (GPUDirect, peer access between cards without NVLink) are slower or not offered. Trainings on one GPU hardly notice.

    ## What to do
    Switch on "Above 4G Decoding" and "Resizable BAR" in the firmware's setup, if several GPUs or GPUDirect matter.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://learn.microsoft.com/windows-hardware/drivers/display/resizable-bar-support
    """
    seen = known(gpu)
    if seen.virtualization == "vgpu" or seen.mig_enabled is True:
        not_applicable("the window is shared among virtual GPUs or instances")
    window, total = offered(seen.bar1), offered(seen.memory_total)
    if not 0 < window.total <= SMALL or total <= LARGE:
        return
    yield Problem(
        message=f"{gpu.label}: BAR1 is {window.total // MIB} MiB for {total / GIB:.0f} GiB of memory.",
        confidence=Confidence.CERTAIN,
        evidence=(Evidence("BAR1, memory", f"{window.total // MIB} MiB, {total // MIB} MiB", "nvmlDeviceGetBAR1MemoryInfo"),),
        fixes=(
            Fix(
                "Have the host's firmware give the GPU its whole BAR1." if site.container or site.on_wsl
                else 'Switch on "Above 4G Decoding" and "Resizable BAR" in the firmware\'s setup, if several GPUs or GPUDirect matter.',
                needs=() if site.container else (REBOOT,),
            ),
        ),
    )  # fmt: skip
