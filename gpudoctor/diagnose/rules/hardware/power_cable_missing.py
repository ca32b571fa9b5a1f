"""GD112: power-cable-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Hardware, Ladder
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import alarm, as_evidence, logged, milder, sure
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.health import _INSUFFICIENT_POWER
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, Missing, Nvml, NvmlGpu

_NO_POWER = 54
"""Xid: auxiliary power is not connected."""


@rule(
    "GD112",
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
def power_cable_missing(gpu: Gpu, nvml: Nvml, log: KernelLog | Missing, hardware: Hardware, ladder: Ladder) -> Iterator[Problem]:
    """The GPU's auxiliary power cables are not connected, or give no power.

    ## Why it matters
    A card that draws more than its slot gives has power connectors of its own. Without them the driver refuses to start it.

    ## What to do
    Power off, connect every power connector of the card with cables of their own, and check that the power supply is strong enough.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    told = logged(gpu, log, _NO_POWER)
    said = None if told and not isinstance(gpu.nvml, NvmlGpu) else alarm(gpu, nvml, _INSUFFICIENT_POWER)
    if said is not None or told:
        who = (
            "NVML says that its external power is insufficient" if said else "the kernel logged that its power connectors are not connected"
        )
        yield Problem(
            message=f"{gpu.label}: {who}.",
            severity=milder(ladder, gpu),
            confidence=sure(gpu, 0 if told else len(hardware) - 1),
            evidence=(
                *((Evidence("NVML", f"{said.code} {said.text}", "libnvidia-ml.so.1"),) if said else ()),
                *as_evidence(told, log),
            ),
            fixes=(Fix("Power off and connect all power connectors of the card.", needs=(ROOT, REBOOT)),),
        )
