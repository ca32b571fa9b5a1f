from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import on_or_off, reset_gpu, undo_change
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity


@rule("GD141", severity=Severity.NOTE, breaks=Rung.TRAINED, predicts=False)
def ecc_change_pending(gpu: GpuView) -> Problems:
    """ECC mode change is pending until the next GPU reset."""
    enabled = gpu.ecc_enabled
    if enabled == gpu.ecc_pending:
        return
    now, then = on_or_off(enabled), on_or_off(gpu.ecc_pending)
    yield Problem(
        message=f"{gpu.label}: ECC is {now} and will be {then} after the next reset or reboot.",
        evidence=(Evidence("ECC mode, pending mode", f"{now}, {then}", "nvmlDeviceGetEccMode"),),
        fixes=(reset_gpu(gpu), *undo_change(gpu, f"sudo nvidia-smi -i {gpu.selector} --ecc-config={int(enabled)}")),
    )
