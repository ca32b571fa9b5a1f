"""GD115: rocm-arch-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.unknown import not_applicable
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity


@rule(
    "GD115",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    predicts=False,
    explains=(Explains(TRAINING_FAILS, "The first operation fails on a GPU for which the build has no kernels.", Join.FRAMEWORK),),
)
def rocm_arch_unsupported(framework: FrameworkView) -> Iterator[Problem]:
    """ROCm build has no kernels for this AMD GPU.

    ## Why it matters
    ROCm libraries contain machine code for a list of targets (gfx90a, gfx1100) and nothing that could be compiled for others. On a GPU
    outside the list the first operation fails, with "invalid device function" or a crash of the process.

    ## What to do
    Choose a build whose list contains the target. On a GPU of the same family as one on the list, HSA_OVERRIDE_GFX_VERSION makes ROCm
    treat it as that one: AMD does not support this, so check the results.

    ## References
    - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    """
    if framework.observed.rocm_build is not True:
        not_applicable("not a ROCm build")
    here = {gpu.target for gpu in framework.machine.amd}
    built = {target.partition(":")[0] for target in framework.architectures}
    if here & built or not here:
        return
    targets, supported = ", ".join(sorted(here)), ", ".join(sorted(built))
    location = framework.observed.location
    yield Problem(
        message=f"{framework.label} is built for {supported}, but the GPU here is {targets}.",
        evidence=(
            Evidence("target of the GPU", targets, "/sys/class/kfd"),
            Evidence("targets in the build", supported, location if isinstance(location, str) else ""),
        ),
        fixes=(Fix(f"Install a ROCm build of {framework.spec.title or framework.name} for {min(here)}.", needs=(DOWNLOAD,)),),
    )
