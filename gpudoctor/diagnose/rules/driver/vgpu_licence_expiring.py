from gpudoctor.derive import GpuView, require_offered
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.driver.licence_client import LICENCE_CALL, RESTART_CLIENT, read_client_log
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity

_NOTE_SECONDS = 3600
"""Seconds before the end of a licence when it becomes a note; our own choice, as clients extend a licence long before its end."""


@rule("GD243", severity=Severity.WARNING, breaks=Rung.KERNEL_RAN, impact=Impact.AT_RISK, predicts=False)
def vgpu_licence_expiring(gpu: GpuView) -> Problems:
    """Virtual GPU's licence has expired or is about to expire."""
    for licence in gpu.vgpu_licences:
        if not licence.enabled or not licence.licensed:
            continue
        left = require_offered(licence.seconds_left, Rung.NVML)
        if left > _NOTE_SECONDS:
            continue
        when = f"expired at {licence.expires}" if left <= 0 else f"expires in {max(1, round(left / 60))} min, at {licence.expires}"
        yield Problem(
            message=f"{gpu.label}: the vGPU licence for {licence.product} {when}.",
            severity=Severity.WARNING if left <= 0 else Severity.NOTE,
            evidence=(Evidence(f"end of the licence for {licence.product}", str(licence.expires), LICENCE_CALL),),
            fixes=(RESTART_CLIENT, read_client_log("Read why it was not extended")),
        )
