from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.system import ask_administrator
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import REBOOT, Evidence, Fix, Problem, Problems, Rung, Severity


@rule("GD140", severity=Severity.NOTE, breaks=Rung.TRAINED, predicts=False)
def ecc_disabled(gpu: GpuView) -> Problems:
    """ECC is off on a GPU that supports it."""
    if gpu.ecc_enabled or gpu.nvml.ecc_pending is True:
        return
    yield Problem(
        message=f"{gpu.label}: ECC is off, so memory errors go undetected.",
        evidence=(Evidence("ECC mode", "disabled", "nvmlDeviceGetEccMode"),),
        fixes=(_enable_ecc(gpu),),
    )


def _enable_ecc(gpu: GpuView) -> Fix:
    if gpu.machine.site.container:
        return ask_administrator("Ask the host's administrator to enable ECC, unless it is off on purpose.")
    title = "Enable ECC and reboot, unless it is off on purpose"
    return Fix(title, f"sudo nvidia-smi -i {gpu.selector} --ecc-config=1", (REBOOT,))
