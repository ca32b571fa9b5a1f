"""GD706: compute-prohibited."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.gpu_facts import hidden, known, offered
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.state.state import _default_mode
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind


@rule(
    "GD706",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_RAN,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(("gpu-missing-from-cuda",), "", Join.GPU),
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
def compute_prohibited(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """The GPU's compute mode forbids every CUDA program.

    ## Why it matters
    In the compute mode prohibited a GPU is listed and no program can use it. It is meant for cards that only drive displays.

    ## What to do
    Set the mode to DEFAULT, or hide the card with CUDA_VISIBLE_DEVICES if it is meant to be so.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    if offered(seen.compute_mode) != "prohibited":
        return
    if hidden(gpu):
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    yield Problem(
        message=f"{gpu.label} is in the compute mode prohibited: no CUDA program may use it.",
        evidence=(Evidence("compute mode", "prohibited", "nvmlDeviceGetComputeMode"),),
        fixes=(_default_mode(gpu, site),),
    )
