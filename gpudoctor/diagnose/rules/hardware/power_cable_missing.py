from gpudoctor.derive import GpuView
from gpudoctor.derive.xids import NO_POWER
from gpudoctor.diagnose.advice.hardware import last_xid
from gpudoctor.diagnose.rule import CUDA_FAILS, GPU_NOT_OPENED, Join, advises, explains, rule
from gpudoctor.diagnose.rules.hardware.alarms import alarm_confidence, alarm_evidence
from gpudoctor.findings import REBOOT, ROOT, Action, Confidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing
from gpudoctor.status_codes import NvmlError


@rule("GD112", severity=Severity.ERROR, breaks=Rung.NVML, predicts=False)
@advises(Fix("Power off and plug a cable into every power connector of the card.", needs=(ROOT, REBOOT), action=Action.REPLACE_HARDWARE))
@explains(GPU_NOT_OPENED, "The driver does not start a GPU without power.", Join.GPU)
@explains(CUDA_FAILS, "CUDA cannot use a GPU that the driver does not start; cuInit can fail on the others.")
def power_cable_missing(gpu: GpuView) -> Problems:
    """GPU power cable is not connected."""
    logged = gpu.xids(NO_POWER)
    alarm = None if logged and isinstance(gpu.observed.nvml, Missing) else gpu.nvml_error(NvmlError.INSUFFICIENT_POWER)
    if alarm is None and not logged:
        return
    what = f"has insufficient external power (NVML error {alarm.code})" if alarm else f"has no auxiliary power connected (Xid {NO_POWER})"
    yield Problem(
        message=f"{gpu.label} {what}.",
        severity=gpu.error_unless_kernel_ran,
        confidence=Confidence.CERTAIN if logged else alarm_confidence(gpu),
        evidence=(*alarm_evidence(alarm), *last_xid(gpu, NO_POWER)),
    )
