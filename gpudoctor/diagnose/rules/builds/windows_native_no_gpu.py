"""GD502: windows-native-no-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView, Stack
from gpudoctor.derive.packages import known
from gpudoctor.diagnose.advice.needs import DOWNLOAD, REBOOT, ROOT
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest
from gpudoctor.diagnose.package_facts import by_directml
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.builds.platforms import _asked
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix.resolve import final_release
from gpudoctor.snapshot import Fact, Framework, Host, Missing, Platform

_LAST_ON_WINDOWS = versions.Version(2, 10, text="2.10")
"""TensorFlow's last minor release with CUDA on native Windows, by its installation page."""


_WSL = {
    "tensorflow": "https://www.tensorflow.org/install/pip#windows-wsl2",
    "jax": "https://docs.jax.dev/en/latest/installation.html",
}


@rule(
    "GD502",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "no-cuda-wheel-for-platform",
                "cpu-only-build",
            ),
            "",
            Join.FRAMEWORK,
        ),
        Explains(("package-not-installable",), ""),
    ),
)
def windows_native_no_gpu(
    framework: Framework, host: Host, hardware: Hardware, stack: Stack | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The framework has no CUDA on native Windows.

    ## Why it matters
    TensorFlow 2.10 was the last release that uses an NVIDIA GPU on native Windows, and JAX never did: later and other builds for Windows
    compute on the CPU, whatever driver and CUDA are installed.

    ## What to do
    Use WSL 2, where the builds for Linux see the GPU through the Windows driver. Where it must be native Windows: TensorFlow 2.10 with
    CUDA 11.2, its DirectML plug-in, or PyTorch.

    ## References
    - https://www.tensorflow.org/install/pip#windows-native
    - https://docs.jax.dev/en/latest/installation.html
    - https://learn.microsoft.com/windows/ai/directml/gpu-tensorflow-plugin
    """
    if need(host.platform) != Platform.WINDOWS:
        not_applicable("not native Windows")
    if framework.name not in _WSL or not hardware:
        not_applicable(f"{framework.name} has CUDA builds for Windows" if hardware else "there is no NVIDIA GPU that it could use")
    release = final_release(need(framework.version).value.partition("+")[0])
    if framework.name == "tensorflow" and (release is None or release[:2] <= _LAST_ON_WINDOWS[:2]):
        return
    if by_directml(framework, machine):
        not_applicable("it reaches the GPU by DirectML")
    if isinstance(framework.built_with_cuda, Fact):
        return
    name = f"{framework.distribution} {need(framework.version).value}"
    why = "2.10 was the last release with CUDA there" if framework.name == "tensorflow" else "JAX publishes its CUDA plugin for Linux only"
    own = _asked(framework, stack)
    row = stack.row(own) if isinstance(stack, Stack) and own else None
    yield Problem(
        message=f"{name} does not use an NVIDIA GPU on native Windows: {why}.",
        only_for=framework.name,
        evidence=(
            Evidence("operating system", "native Windows", "the host"),
            *((Evidence("its wheel for Windows", "without CUDA", known(row)),) if row and row.accelerator == "cpu" else ()),
        ),
        fixes=(
            Fix(f"Use WSL 2 and install the build for Linux there: {_WSL[framework.name]}", "wsl --install", (ROOT, DOWNLOAD, REBOOT)),
            *(_native_tensorflow(machine) if framework.name == "tensorflow" else ()),
        ),
    )


def _native_tensorflow(machine: MachineView) -> tuple[Fix, ...]:
    """TensorFlow with DirectML, where this Python has wheels of it."""
    release = newest(machine, "tensorflow-cpu", accepts="<2.11")
    if not release or not newest(machine, "tensorflow-directml-plugin"):
        return ()
    command = install_package(machine.observed.python, f"tensorflow-cpu=={release}", "tensorflow-directml-plugin")
    return (Fix("Use DirectML, which needs no CUDA, with TensorFlow 2.10", command, (DOWNLOAD,), kind=FixKind.INSTEAD),)
