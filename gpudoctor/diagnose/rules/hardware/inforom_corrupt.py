from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import replace_hardware
from gpudoctor.diagnose.advice.system import power_cycle
from gpudoctor.diagnose.rule import CUDA_FAILS, GPU_NOT_OPENED, Join, advises, explains, rule
from gpudoctor.diagnose.rules.hardware.alarms import alarm_confidence, alarm_evidence
from gpudoctor.findings import FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.status_codes import NvmlError


@rule("GD108", severity=Severity.ERROR, breaks=Rung.NVML, impact=Impact.AT_RISK, predicts=False)
@advises(power_cycle(), replace_hardware("Have the infoROM reflashed or the GPU replaced", FixKind.ELSE))
@explains(GPU_NOT_OPENED, "The driver may refuse to open a GPU with a corrupt infoROM.", Join.GPU)
@explains(CUDA_FAILS, "CUDA cannot use a GPU that the driver does not open; cuInit can fail on the others.")
def inforom_corrupt(gpu: GpuView) -> Problems:
    """GPU infoROM is corrupt."""
    alarm = gpu.nvml_error(NvmlError.CORRUPTED_INFOROM)
    if alarm:
        yield Problem(
            message=f"{gpu.label} has a corrupt infoROM (NVML error {alarm.code}).",
            severity=Severity.WARNING if gpu.is_opened else None,
            confidence=alarm_confidence(gpu),
            evidence=alarm_evidence(alarm),
        )
