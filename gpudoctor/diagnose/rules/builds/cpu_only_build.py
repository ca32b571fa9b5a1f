from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView, absence, not_applicable, not_stated
from gpudoctor.diagnose.advice.from_log import install_with_cuda
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import Evidence, Impact, Problem, Rung, Severity
from gpudoctor.snapshot import Fact, Missing


@rule(
    "GD501",
    advice=lambda machine: tuple(install_with_cuda(machine, "cpu-only-build")),
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    impact=Impact.PARTLY,
    explains=(Explains(TRAINING_FAILS, "A build without CUDA can only train on the CPU.", Join.FRAMEWORK),),
)
def cpu_only_build(framework: FrameworkView) -> Iterator[Problem]:
    """Framework is built without CUDA."""
    framework.machine.need_gpu()
    if framework.uses_directml:
        not_applicable("it uses the GPU through DirectML")
    without_cuda = absence(framework.cuda_or_missing)
    if without_cuda is None:
        return
    if framework.observed.rocm_build is True and all(isinstance(gpu.observed.name, Missing) for gpu in framework.machine.gpus):
        not_stated("which GPU a ROCm build runs on")
    if framework.required_by is not None:
        not_applicable(f"{framework.required_by.label} requires {framework.name}, and nobody asked for it")
    observed = framework.observed
    replace = "" if observed.distribution in framework.spec.distributions[:1] else observed.distribution
    yield Problem(
        message=_message(framework),
        only_for=framework.name,
        evidence=(
            Evidence("build", without_cuda.reason, observed.location if isinstance(observed.location, str) else observed.distribution),
        ),
        fixes=install_framework(framework.machine, framework.name, prefer=framework.release, replace=replace),
    )


def _message(framework: FrameworkView) -> str:
    if framework.directml:
        return f"{framework.directml} needs DirectX, which exists only on Windows and in WSL, so it cannot use the NVIDIA GPU on Linux."
    observed = framework.observed
    version = f" {observed.version.value}" if isinstance(observed.version, Fact) else ""
    distribution = next(iter(framework.machine.site.distribution), "").capitalize()
    package = f" ({distribution} package {framework.debian_package})" if framework.debian_package else ""
    rocm = " (it is a ROCm build for AMD GPUs)" if observed.rocm_build is True else ""
    return f"{observed.distribution or framework.name}{version}{package} is built without CUDA{rocm}, so it cannot use the NVIDIA GPU."
