"""GD108: inforom-corrupt."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Hardware
from gpudoctor.diagnose.advice.system import power_cycle
from gpudoctor.diagnose.gpu_facts import alarm, replace, sure
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.health import _CORRUPT_INFOROM
from gpudoctor.findings import Evidence, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Nvml, NvmlGpu


@rule(
    "GD108",
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
def inforom_corrupt(gpu: Gpu, nvml: Nvml, hardware: Hardware) -> Iterator[Problem]:
    """The GPU's infoROM is corrupt.

    ## Why it matters
    The infoROM keeps the card's configuration and its counts of memory errors. A corrupt one mostly leaves the GPU usable, with
    settings and error records that cannot be trusted; in a bad case the driver does not open the card.

    ## What to do
    Power the machine off and on once. If it stays, NVIDIA or the vendor can write it anew or replace the card.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    said = alarm(gpu, nvml, _CORRUPT_INFOROM)
    if said is None:
        return
    opened = isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str)
    yield Problem(
        message=f"{gpu.label}: NVML says that its infoROM is corrupt.",
        severity=Severity.WARNING if opened else None,
        confidence=sure(gpu, len(hardware) - 1),
        evidence=(Evidence("NVML", f"{said.code} {said.text}", "libnvidia-ml.so.1"),),
        fixes=(
            power_cycle(),
            replace("Have the card repaired", FixKind.ELSE),
        ),
    )
