from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import DOWNLOAD, Domain, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.findings.naming import joined


@rule(
    "GD115",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    domain=Domain.ENVIRONMENT,
    predicts=False,
    explains=(Explains(TRAINING_FAILS, "The first kernel launch fails on a GPU without kernels in the build.", Join.FRAMEWORK),),
)
def rocm_arch_unsupported(framework: FrameworkView) -> Iterator[Problem]:
    """ROCm build has no kernels for this AMD GPU."""
    if framework.observed.rocm_build is not True:
        not_applicable("not a ROCm build")
    here = {gpu.target for gpu in framework.machine.amd}
    built = {target.partition(":")[0] for target in framework.architectures}
    if here & built or not here:
        return
    targets, supported = joined(sorted(here)), ", ".join(sorted(built))
    location = framework.observed.location
    yield Problem(
        message=f"{framework.label} has no kernels for {targets} (it has {supported}).",
        evidence=(
            Evidence("GPU target", targets, "/sys/class/kfd"),
            Evidence("targets in the build", supported, location if isinstance(location, str) else ""),
        ),
        fixes=(Fix(f"Install a ROCm build of {framework.spec.title or framework.name} with kernels for {min(here)}.", needs=(DOWNLOAD,)),),
    )
