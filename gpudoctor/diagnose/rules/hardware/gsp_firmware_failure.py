import re

from gpudoctor.derive import CouldNotTell, GpuView, not_applicable
from gpudoctor.derive.xids import GSP_FAILURES
from gpudoctor.diagnose.advice.hardware import last_xid
from gpudoctor.diagnose.advice.kernel_log import kernel_log_evidence
from gpudoctor.diagnose.advice.system import power_cycle
from gpudoctor.diagnose.rule import CUDA_FAILS, GPU_NOT_OPENED, Join, advises, explains, rule
from gpudoctor.findings import DOWNLOAD, REBOOT, ROOT, Domain, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing, PciDevice

_PROCESS_PREFIX = r"^pid=[^,]*, name=[^,]*, "
"""The process that the driver names first; the message is about the GPU."""
_FAILURE_LINES = r"Cannot initialize GSP firmware|GSP.{0,40}(?:timeout|timed out|failed)|WPR2 already up"


@rule("GD110", severity=Severity.ERROR, breaks=Rung.NVML, domain=Domain.DRIVER)
@advises(
    Fix("Save the logs for a bug report", "sudo nvidia-bug-report.sh", kind=FixKind.CHECK),
    power_cycle(),
    Fix(
        "Update the driver. If it happens again, have the GPU checked by the vendor.",
        needs=(ROOT, DOWNLOAD, REBOOT),
        kind=FixKind.ELSE,
    ),
)
@explains(GPU_NOT_OPENED, "The driver cannot initialise a GPU whose firmware does not start.", Join.GPU)
@explains(
    ("gpu-fell-off-bus", "gpu-not-responding", "gpu-requires-reset"), "Driver calls fail until a GPU with hung firmware is reset.", Join.GPU
)
@explains(("driver-hung", *CUDA_FAILS), "The driver waits for the firmware, so CUDA and training fail or hang.")
def gsp_firmware_failure(gpu: GpuView) -> Problems:
    """GSP firmware failed or stopped responding."""
    if not isinstance(gpu.observed.pci, PciDevice) or gpu.observed.is_passed_through:
        not_applicable("not driven by this machine's kernel driver")
    events, lines = gpu.xids(*GSP_FAILURES), kernel_log_evidence(gpu.machine, _FAILURE_LINES, gpu.key)
    log = gpu.machine.observed.kernel_log
    if not events and not lines:
        if isinstance(log, Missing) and not gpu.is_opened:  # the firmware of a GPU that NVML opened responds
            raise CouldNotTell(log, Rung.KERNEL_DRIVER)
        return
    reason = f"Xid {events[-1].code}, {re.sub(_PROCESS_PREFIX, '', events[-1].text)}" if events else lines[-1].value
    yield Problem(
        message=f"{gpu.label}: GSP firmware failed ({reason[:100].rstrip('.!')}).",
        evidence=(*last_xid(gpu, *GSP_FAILURES), *lines),
    )
