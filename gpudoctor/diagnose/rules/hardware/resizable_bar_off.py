from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.advice.hardware import GIB, MIB
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import REBOOT, Action, Confidence, Evidence, Fix, Problem, Problems, Rung, Severity

SMALL_BAR1 = 256 * MIB
"""BAR1 of discrete GPUs without Resizable BAR, from Microsoft's page on it."""
LARGE_MEMORY = 4 * GIB
"""A card with less memory has a small BAR1 whatever the BIOS does."""


@rule("GD145", severity=Severity.NOTE, breaks=Rung.TRAINED, predicts=False)
def resizable_bar_off(gpu: GpuView) -> Problems:
    """Resizable BAR is off."""
    if gpu.nvml.virtualization == "vgpu" or gpu.nvml.mig_enabled is True:
        not_applicable("virtual GPUs or MIG instances share BAR1")
    size, memory = gpu.bar1.total, gpu.memory_total
    if not 0 < size <= SMALL_BAR1 or memory <= LARGE_MEMORY:
        return
    yield Problem(
        message=f"{gpu.label}: Resizable BAR is off (BAR1 is {size // MIB} MiB for {memory / GIB:.0f} GiB of memory).",
        confidence=Confidence.CERTAIN,
        evidence=(Evidence("BAR1, memory", f"{size // MIB} MiB, {memory // MIB} MiB", "nvmlDeviceGetBAR1MemoryInfo"),),
        fixes=(_enable_resizable_bar(gpu),),
    )


def _enable_resizable_bar(gpu: GpuView) -> Fix:
    site = gpu.machine.site
    needs = () if site.container else (REBOOT,)
    if site.container or site.on_wsl:
        return Fix(
            "Ask the host's administrator to enable Resizable BAR in the BIOS, if you use several GPUs or GPUDirect.",
            needs=needs,
            action=Action.CONTACT_ADMINISTRATOR,
        )
    return Fix('Enable "Above 4G Decoding" and "Resizable BAR" in the BIOS, if you use several GPUs or GPUDirect.', needs=needs)
