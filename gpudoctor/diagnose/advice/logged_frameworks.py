"""What installs a framework that only a log names: one that the text states or, without any, that its lines speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpudoctor.derive import EffectiveCuda, GpuView, MachineView
from gpudoctor.diagnose.advice.compilers import build_for_stated
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.message_fixes import fixes_from_message, usual_fixes
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.findings import Action, Fix
from gpudoctor.frameworks import TRAINED
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.matrix.builds import GpuBuild
from gpudoctor.snapshot import Missing


def install_with_cuda(machine: MachineView, cause: str) -> Iterator[Fix]:
    """Yield the fixes that install a CUDA build of the same release if there is one; the cause's usual remedy where no framework is named."""
    releases = releases_in_text(machine)
    for name, release in releases.items():
        yield from install_framework(machine, name, near=release)
    if not releases:
        yield from usual_fixes(machine, cause)


def install_for_gpu(machine: MachineView, *, newer: bool) -> Iterator[Fix]:
    """Yield the fixes that install the newest release with kernels for the stated GPUs, another build than the one that has none; the usual remedy where none is stated."""
    known = [gpu for gpu in machine.gpus if not isinstance(gpu.capability_or_missing, Missing)]
    names = releases_in_text(machine) if known else {}
    for name in names:
        yield from install_framework(machine, name, suits=_other_build(machine, name, known if newer else []))
    if not names:
        stated = build_for_stated(machine, newer=newer)
        yield from (stated,) if stated else usual_fixes(machine, "gpu-too-new-for-build" if newer else "gpu-too-old-for-build")


def _other_build(machine: MachineView, name: str, gpus: Sequence[GpuView]) -> Callable[[GpuBuild], bool]:
    """Return whether a build is another than the stated one, which an error shows to fail, and of a CUDA release whose libraries know these GPUs."""
    framework = machine.framework(name)
    cuda = framework.cuda_or_missing if framework else None
    stated = (framework.release, cuda.version[:2]) if framework and isinstance(cuda, EffectiveCuda) else None
    targets = {f"sm_{gpu.capability.major}{gpu.capability.minor}" for gpu in gpus}

    def suits(build: GpuBuild) -> bool:
        row = machine.matrix.cuda(build.cuda) if build.cuda else None
        known = row is None or not row.sass or targets.issubset(row.sass)
        return known and (build.cuda is None or (build.number, build.cuda[:2]) != stated)

    return suits


def install_toolkit(machine: MachineView, cause: str) -> tuple[Fix, ...]:
    """Return the fix that installs the toolkit with which the stated framework was built; the cause's usual one where none is stated."""
    title = "Install the CUDA {cuda} toolkit, with which {label} was built, and set CUDA_HOME to it"
    return _fix_for_build(machine, cause, title, "export CUDA_HOME=/usr/local/cuda-{cuda}")


def install_extension(machine: MachineView, cause: str) -> tuple[Fix, ...]:
    """Return the fix that installs the extension that suits the stated framework; the cause's usual one where none is stated."""
    return _fix_for_build(machine, cause, "Install the build of the extension for {label} and its CUDA {cuda}, or compile it here.")


def _fix_for_build(machine: MachineView, cause: str, title: str, command: str = "") -> tuple[Fix, ...]:
    """Return the fix that the message of a cause states, otherwise this one for the stated framework that extensions are built for, otherwise the usual."""
    if by_message := next(fixes_from_message(machine, cause), ()):
        return by_message
    for framework in machine.frameworks:
        cuda = framework.cuda_or_missing
        if framework.spec.builds_extensions and isinstance(cuda, EffectiveCuda):
            stated = {"label": framework.label, "cuda": cuda.version.short}
            return (Fix(title.format(**stated), command.format(**stated), action=Action.INSTALL_PACKAGE),)
    return remedy(cause)


def releases_in_text(machine: MachineView) -> dict[str, str]:
    """Return the frameworks that a text is about, each with its release if that is stated."""
    stated = {framework.name: framework.release for framework in machine.frameworks}
    lines = machine.log.text.lower()
    return stated or {name: "" for name in TRAINED if name in lines or _ERROR_STARTS.get(name, name) in lines}


_ERROR_STARTS = {TORCH.name: "runtimeerror: cuda error"}
"""How the errors of a framework begin that do not name it."""
