"""GD110: gsp-firmware-failure."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.advice.needs import DOWNLOAD, REBOOT, ROOT
from gpudoctor.diagnose.advice.system import power_cycle
from gpudoctor.diagnose.gpu_facts import as_evidence, logged
from gpudoctor.diagnose.kernel_facts import said
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, Missing, NvmlGpu, PciDevice

GSP_TIMEOUT, GSP_ERROR = 119, 120


GSP_LINES = r"Cannot initialize GSP firmware|GSP.{0,40}(?:timeout|timed out|failed)|WPR2 already up"


@rule(
    "GD110",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "gpu-count-mismatch",
                "gpu-fell-off-bus",
                "gpu-not-responding",
                "gpu-requires-reset",
            ),
            "",
            Join.GPU,
        ),
        Explains(
            (
                "driver-hung",
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gsp_firmware_failure(gpu: Gpu, log: KernelLog | Missing) -> Iterator[Problem]:
    """The GPU's own firmware (GSP) failed or does not answer.

    ## Why it matters
    Since Turing a GPU runs a part of the driver itself, on a processor called GSP. When that does not start, or stops answering (Xid 119
    and 120), every call about the GPU fails or waits. If the GPU works again by now, it is worth knowing only.

    ## What to do
    Reset the GPU or reboot; where the log says "WPR2 already up", only power off and on helps. If it happens again, renew the driver:
    most of such failures were mended there. The proprietary modules can do without the firmware (NVreg_EnableGpuFirmware=0), the open
    ones cannot.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://github.com/NVIDIA/open-gpu-kernel-modules/issues/789
    """
    if not isinstance(gpu.pci, PciDevice) or gpu.set_aside:
        not_applicable("not a GPU that a kernel driver of this machine should drive")
    events = logged(gpu, log, GSP_TIMEOUT, GSP_ERROR)
    lines = said(log, GSP_LINES, gpu)
    if not events and not lines:
        if not (isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str)):
            need(log, Rung.KERNEL_DRIVER)
        return  # a GPU that answers NVML has firmware that answers
    yield Problem(
        message=f"{gpu.label}: the firmware failed: {events[-1].text[:100] if events else lines[-1].value[:100]}",
        evidence=(*as_evidence(events, log), *lines),
        fixes=(
            Fix("Save the kernel log for a report", "sudo nvidia-bug-report.sh", (ROOT,), kind=FixKind.CHECK),
            power_cycle(),
            Fix("Update the driver; if it happens again, have the card examined.", needs=(ROOT, DOWNLOAD, REBOOT), kind=FixKind.ELSE),
        ),
    )
