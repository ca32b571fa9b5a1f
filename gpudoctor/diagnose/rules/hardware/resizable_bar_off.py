"""GD145: resizable-bar-off."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import GpuView
from gpudoctor.derive.unknown import not_applicable
from gpudoctor.diagnose.advice.hardware import GIB, MIB
from gpudoctor.diagnose.advice.needs import REBOOT
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity

SMALL = 256 * MIB
"""The size of BAR1 that cards without resizable BAR have, as Microsoft's page on resizable BAR gives it for discrete GPUs."""
LARGE = 4 * GIB
"""The BAR1 of a card with less memory than this is small whatever the firmware does."""


@rule("GD145", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
def resizable_bar_off(gpu: GpuView) -> Iterator[Problem]:
    """Resizable BAR is off."""
    if gpu.nvml.virtualization == "vgpu" or gpu.nvml.mig_enabled is True:
        not_applicable("virtual GPUs or MIG instances share BAR1")
    size, memory = gpu.bar1.total, gpu.memory_total
    if not 0 < size <= SMALL or memory <= LARGE:
        return
    yield Problem(
        message=f"{gpu.label}: BAR1 is {size // MIB} MiB for {memory / GIB:.0f} GiB of memory.",
        confidence=Confidence.CERTAIN,
        evidence=(Evidence("BAR1, memory", f"{size // MIB} MiB, {memory // MIB} MiB", "nvmlDeviceGetBAR1MemoryInfo"),),
        fixes=(_switch_on(gpu),),
    )


def _switch_on(gpu: GpuView) -> Fix:
    site = gpu.machine.site
    needs = () if site.container else (REBOOT,)
    if site.container or site.on_wsl:
        return Fix("Have the host's firmware give the GPU its whole BAR1.", needs=needs)
    return Fix(
        'If you use several GPUs or GPUDirect, switch on "Above 4G Decoding" and "Resizable BAR" in the firmware setup.', needs=needs
    )
