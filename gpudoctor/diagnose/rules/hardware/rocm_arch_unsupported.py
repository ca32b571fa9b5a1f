"""GD115: rocm-arch-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Amd, Cause, Framework, Missing, Snapshot


@rule(
    "GD115",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def rocm_arch_unsupported(framework: Framework, snapshot: Snapshot) -> Iterator[Problem]:
    """The ROCm build of the framework holds no code for this AMD GPU.

    ## Why it matters
    ROCm's libraries bring machine code for a list of targets (gfx90a, gfx1100) and nothing that could be compiled for others. On a GPU
    outside the list the first operation fails, with "invalid device function" or a crash of the process.

    ## What to do
    Choose a build whose list holds the target. On a GPU of the same family as one on the list, HSA_OVERRIDE_GFX_VERSION makes ROCm take
    it for that one: AMD does not support this, and results must be checked.

    ## References
    - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    """
    if framework.rocm_build is not True:
        not_applicable("not a build for ROCm")
    if isinstance(snapshot.amd, Missing) and snapshot.amd.cause is Cause.ABSENT:
        not_applicable("ROCm's kernel driver serves no GPU here")
    gpus: tuple[Amd, ...] = need(snapshot.amd, Rung.KERNEL_DRIVER)
    held = {name.partition(":")[0] for name in need(framework.architectures)}
    lacking = sorted({one.target for one in gpus if one.target not in held})
    if not lacking or len(lacking) < len({one.target for one in gpus}):
        return
    yield Problem(
        message=f"{framework.name} is built for {', '.join(sorted(held))}; the GPU here is {', '.join(lacking)}.",
        evidence=(
            Evidence("target of the GPU", ", ".join(lacking), "/sys/class/kfd"),
            Evidence("targets in the build", ", ".join(sorted(held)), framework.location if isinstance(framework.location, str) else ""),
        ),
        fixes=(Fix(f"Install a build of {framework.name} for ROCm that holds {lacking[0]}.", needs=(DOWNLOAD,)),),
    )
