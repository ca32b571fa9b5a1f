"""GD109: gpu-requires-reset."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Hardware, Ladder, Site
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.gpu_facts import alarm, milder, offered, reset, sure
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.health import _RESET_REQUIRED
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, Nvml, NvmlGpu

_ACTIONS = {
    "reset": ("a reset", Severity.ERROR),
    "reboot": ("a reboot of the machine", Severity.ERROR),
    "bus-reset": ("a reset of its PCIe bus", Severity.ERROR),
    "system-reboot": ("a reboot of the machine", Severity.ERROR),
    "drain-p2p": ("the end of all programs that use peer access", Severity.WARNING),
    "drain-and-reset": ("no new work and, when the present work has ended, a reset", Severity.WARNING),
    "recover-imex-domain": ("a recovery of its IMEX domain", Severity.WARNING),
}
"""What each recovery action asks for, and whether the GPU is of no use until then."""


@rule(
    "GD109",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "gpu-count-mismatch",
            ),
            "",
            Join.GPU,
        ),
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gpu_requires_reset(gpu: Gpu, nvml: Nvml, ladder: Ladder, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """The GPU needs a reset or a reboot before it can be used.

    ## Why it matters
    After some errors the driver takes no more work for a GPU, or none that can be trusted, until it is reset. NVML says so by the answer
    "GPU requires reset", and newer drivers by a recovery action that names what it takes.

    ## What to do
    Do what the recovery action says, when nothing runs on the GPU. If it comes back, read the kernel's log for the Xid before it.

    ## References
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    said = alarm(gpu, nvml, _RESET_REQUIRED)
    wanted = gpu.nvml.recovery_action if isinstance(gpu.nvml, NvmlGpu) else "none"
    action, severity = _ACTIONS.get(str(wanted), ("", Severity.ERROR))
    if said is None and (isinstance(wanted, Missing) or not action):
        offered(wanted)
        return
    reboots = "reboot" in str(wanted)
    yield Problem(
        message=f"{gpu.label}: the driver asks for {action or 'a reset'} before the GPU can be trusted.",
        severity=Severity.WARNING if said is None and severity is Severity.WARNING else milder(ladder, gpu),
        confidence=sure(gpu, len(hardware) - 1),
        evidence=(
            *((Evidence("NVML", f"{said.code} {said.text}", "libnvidia-ml.so.1"),) if said else ()),
            *((Evidence("recovery action", str(wanted), "NVML"),) if action else ()),
        ),
        fixes=(reboot() if reboots and not site.container else reset(gpu, site),),
    )
