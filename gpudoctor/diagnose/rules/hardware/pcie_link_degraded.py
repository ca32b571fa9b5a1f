from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.rule import GPU_IS_SLOW, Join, explains, rule
from gpudoctor.diagnose.rules.hardware.pcie_link import bus_faults, link_faults
from gpudoctor.findings import REBOOT, ROOT, Action, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import TEXT, Missing


@rule(
    "GD111",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    impact=Impact.SLOWER,
    predicts=False,
    sees_more_at=Level.TRAIN,
    bears_on_training=True,
)
@explains(GPU_IS_SLOW, "On a slow link the GPU waits for its data.", Join.GPU)
def pcie_link_degraded(gpu: GpuView) -> Problems:
    """PCIe link runs below its width or speed, or has errors."""
    if not gpu.machine.site.has_pci:
        not_applicable("this system does not show the PCIe link")
    only_bus = gpu.machine.observed.origin == TEXT and isinstance(gpu.observed.nvml, Missing)
    if not only_bus and gpu.nvml.virtualization == "vgpu":
        not_applicable("a virtual GPU has no PCIe link of its own")
    if gpu.observed.integrated:
        not_applicable("an integrated GPU has no PCIe link of its own")
    faults = tuple(bus_faults(gpu.pci) if only_bus else link_faults(gpu))
    if faults:
        yield Problem(
            message=f"{gpu.label}: PCIe link {', '.join(fault.text for fault in faults)}.",
            severity=max(fault.severity for fault in faults),
            impact=Impact.SLOWER if any(fault.impact is Impact.SLOWER for fault in faults) else Impact.AT_RISK,
            confidence=max(fault.confidence for fault in faults),
            evidence=tuple(fault.evidence for fault in faults),
            fixes=(
                Fix("Look at the link under load", f"nvidia-smi -q -i {gpu.selector} | grep -A12 'GPU Link Info'", kind=FixKind.CHECK),
                Fix(
                    "Reseat the GPU and its riser or cable, try another slot, and set the slot to full width and speed in the BIOS.",
                    needs=(ROOT, REBOOT),
                    action=Action.REPLACE_HARDWARE,
                ),
            ),
        )
