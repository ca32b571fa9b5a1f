"""GD503: no-cuda-wheel-for-platform."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, Hardware, MachineView, Stack, wheel_platform
from gpudoctor.derive.cuda import WITHOUT_CUDA
from gpudoctor.derive.packages import known
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.builds.platforms import _asked
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, Distribution, Framework, Missing


@rule(
    "GD503",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cpu-only-build",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def no_cuda_wheel_for_platform(
    framework: Framework, effective: EffectiveCuda | Missing, hardware: Hardware, stack: Stack, machine: MachineView
) -> Iterator[Problem]:
    """The package index has a CUDA build of this release for other platforms only.

    ## Why it matters
    The same command gives a build with CUDA on one platform and one without on another: the index holds one file for each platform, and
    for this one it is the build for the CPU.

    ## What to do
    PyTorch publishes CUDA builds for Windows and for Linux on ARM on an index of its own; its page names it. TensorFlow for Linux on ARM
    comes with CUDA in NVIDIA's containers. For macOS no framework has CUDA.

    ## References
    - https://pytorch.org/get-started/locally/
    - https://docs.nvidia.com/deeplearning/frameworks/tensorflow-release-notes/
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU that a CUDA build could use")
    own = _asked(framework, stack)
    row = stack.row(own) if own is not None and stack.platform else None
    if own is None or row is None:
        not_applicable("the matrix does not know this release on this platform")
    lacks = isinstance(effective, Missing) and effective.cause is Cause.ABSENT
    if not lacks or row.accelerator not in WITHOUT_CUDA or "+" in own.version:
        return
    others = {name: other for name, other in stack.elsewhere(own).items() if other.accelerator == "cuda"}
    if not others:
        return
    here = wheel_platform.label(stack.platform)
    yield Problem(
        message=f"The package index has {own.label} for {here} without CUDA; with CUDA it has it for {', '.join(map(wheel_platform.label, others))}.",
        only_for=framework.name,
        evidence=(
            Evidence(f"wheel for {here}", "without CUDA", known(row)),
            *(Evidence(f"wheel for {wheel_platform.label(name)}", "with CUDA", known(other)) for name, other in others.items()),
        ),
        fixes=_cuda_elsewhere(framework, own, stack, machine),
    )


def _cuda_elsewhere(framework: Framework, own: Distribution, stack: Stack, machine: MachineView) -> tuple[Fix, ...]:
    if stack.platform.startswith("macos"):
        return (Fix("Train on a machine with Linux or Windows: macOS has no CUDA."),)
    if framework.name == "torch":
        return install_framework(machine, "torch", prefer=own.version)
    containers = "https://docs.nvidia.com/deeplearning/frameworks/tensorflow-release-notes/"
    return (Fix(f"Use NVIDIA's container with CUDA for this platform: {containers}", needs=(DOWNLOAD,)),)
