"""GD501: cpu-only-build."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, Hardware, MachineView
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.package_facts import by_directml, directml, distribution_of, system_package
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, Fact, Framework, Missing


@rule(
    "GD501",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def cpu_only_build(framework: Framework, effective: EffectiveCuda | Missing, hardware: Hardware, machine: MachineView) -> Iterator[Problem]:
    """The framework's build has no CUDA.

    ## Why it matters
    Frameworks are published with and without CUDA, under the same or nearly the same name. A build without it never uses a GPU,
    whatever driver and libraries are installed, and most say nothing. For JAX the CUDA half is a plugin of its own.

    It is an error where no other framework of the environment could use the GPU, else a warning.

    ## What to do
    Replace it by a build with CUDA. Nothing below the framework has to change.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://pytorch.org/get-started/locally/
    - https://docs.jax.dev/en/latest/installation.html
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU that a CUDA build could use")
    if by_directml(framework, machine):
        not_applicable("it reaches the GPU by DirectML")
    if not isinstance(effective, Missing):
        return
    if effective.cause is not Cause.ABSENT:
        need(effective)
    asker = machine.asked_for_by(framework)
    if asker is not None:
        not_applicable(f"{asker.name} {asker.version} requires {framework.name}, and nobody asked for it")
    version = framework.version.value if isinstance(framework.version, Fact) else ""
    rocm = " (it is a ROCm build, for AMD GPUs)" if framework.rocm_build is True else ""
    yield Problem(
        message=_cpu_only(framework, machine, version, rocm),
        only_for=framework.name,
        evidence=(Evidence("build", effective.reason, _where(framework)),),
        fixes=_with_cuda(framework, machine),
    )


def _cpu_only(framework: Framework, machine: MachineView, version: str, rocm: str) -> str:
    package = directml(framework, machine)
    if package:
        return f"{package} uses DirectX, which exists on Windows and in WSL only: on Linux it does not use the NVIDIA GPU, nor CUDA."
    package = system_package(framework, machine)
    whose = f" ({distribution_of(machine)}'s package {package})" if package else ""
    return f"{framework.distribution or framework.name} {version}{whose} is built without CUDA{rocm}, so it cannot use the NVIDIA GPU."


def _where(framework: Framework) -> str:
    return framework.location if isinstance(framework.location, str) else framework.distribution


def _with_cuda(framework: Framework, machine: MachineView) -> tuple[Fix, ...]:
    """How to get a build with CUDA, of the same release where that works here."""
    replace = framework.distribution if framework.name == "tensorflow" and framework.distribution != "tensorflow" else ""
    return install_framework(machine, framework.name, prefer=framework.release, replace=replace)
