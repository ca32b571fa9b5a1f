from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.diagnose.advice.hardware import on_or_off, reset_gpu, undo_change
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Domain, Evidence, Problem, Problems, Rung, Severity


@rule("GD740", severity=Severity.NOTE, breaks=Rung.TRAINED, domain=Domain.DRIVER, predicts=False)
def mig_change_pending(gpu: GpuView) -> Problems:
    """MIG mode changes at the next GPU reset."""
    enabled, pending = gpu.mig_enabled, gpu.mig_pending
    if gpu.nvml.virtualization == "vgpu":
        not_applicable("the host sets the MIG mode of a virtual GPU")
    if enabled == pending:
        return
    now, then = on_or_off(enabled), on_or_off(pending)
    yield Problem(
        message=f"{gpu.label}: MIG is {now} but will be {then} after the next GPU reset or reboot.",
        evidence=(Evidence("MIG mode now, pending", f"{now}, {then}", "nvmlDeviceGetMigMode"),),
        fixes=(reset_gpu(gpu), *undo_change(gpu, f"sudo nvidia-smi -i {gpu.selector} -mig {int(enabled)}")),
    )
