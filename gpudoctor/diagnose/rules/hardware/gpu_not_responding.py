"""GD130: gpu-not-responding."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.derive.lost_gpus import off_the_bus, unresponsive
from gpudoctor.diagnose.gpu_facts import known, milder, reset
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.hardware import _kernel_says
from gpudoctor.findings import Confidence, Problem, Rung, Severity, SubjectKind


@rule(
    "GD130",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(
            (
                "gpu-count-mismatch",
                "gpu-missing-from-cuda",
            ),
            "",
            Join.GPU,
        ),
        Explains(
            (
                "cuda-init-fails",
                "uvm-broken-after-suspend",
                "uvm-not-loaded",
                "nvlink-inactive",
                "all-reduce-failed",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gpu_not_responding(gpu: Gpu, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """NVML gets errors instead of answers from this GPU.

    ## Why it matters
    NVML opens the GPU, and most calls about it fail with the same error, or NVML reports trouble with its interrupts (11). What the other
    calls answered cannot be trusted then. A GPU in this state mostly refuses work, and can stop the programs on it.

    ## What to do
    Read the kernel's log for the Xid that came before. Reset the GPU, or reboot. Trouble with interrupts often comes from the
    machine's firmware: update the BIOS, and try the driver with `NVreg_EnableMSI=1`.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    if off_the_bus(gpu):
        not_applicable("it fell off the bus")
    seen = unresponsive(gpu)
    if not seen:
        need(known(gpu).refusals, Rung.NVML)
        return
    yield Problem(
        message=f"{gpu.label}: {'; '.join(f'{one.what}: {one.value}' for one in seen)}.",
        severity=milder(ladder, gpu),
        confidence=Confidence.LIKELY,
        evidence=seen,
        fixes=(_kernel_says(gpu), reset(gpu, site)),
    )
