from gpudoctor.derive import GpuView
from gpudoctor.diagnose.rule import GPU_IS_SLOW, Join, explains, rule
from gpudoctor.diagnose.rules.training.clocks import COOL_GPU, show_under_load
from gpudoctor.diagnose.rules.training.heat import heat_faults
from gpudoctor.diagnose.rules.training.slowdowns import temperature_evidence
from gpudoctor.findings import Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity


@rule("GD907", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False, sees_more_at=Level.TRAIN)
@explains(GPU_IS_SLOW, "A hot GPU runs at lower clocks.", Join.GPU)
def thermal_throttled(gpu: GpuView) -> Problems:
    """GPU is too hot or was throttled by heat."""
    faults = heat_faults(gpu)
    if faults:
        yield Problem(
            message=f"{gpu.label} {', '.join(fault.text for fault in faults)}.",
            severity=max(fault.severity for fault in faults),
            evidence=(*(fault.evidence for fault in faults), *temperature_evidence(gpu)),
            fixes=(
                show_under_load(gpu, "TEMPERATURE", "PERFORMANCE"),
                COOL_GPU,
                *_lower_power_limit(gpu),
            ),
        )


def _lower_power_limit(gpu: GpuView) -> tuple[Fix, ...]:
    """Return the fix that takes a fifth of the power, or as much as the GPU allows; a container cannot set it."""
    default, least = gpu.nvml.power_limit_default, gpu.nvml.power_limit_min
    if not isinstance(default, int) or gpu.machine.site.container:
        return ()
    watts = max(default * 8 // 10 // 1000, -(-least // 1000) if isinstance(least, int) else 0)
    if watts >= default // 1000:
        return ()
    title = f"Lower the power limit to {watts} W until the cooling is fixed"
    return (Fix(title, f"sudo nvidia-smi -i {gpu.selector} -pl {watts}", kind=FixKind.INSTEAD),)
