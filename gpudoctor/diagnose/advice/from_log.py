"""What installs a framework that only a log names: one that the text states or, without any, that its lines speak of."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.findings import Fix
from gpudoctor.frameworks import TRAINED
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.snapshot import Missing, TextLog


def install_with_cuda(machine: MachineView, cause: str) -> Iterator[Fix]:
    """Yield the fixes that install a CUDA build of the same release if there is one; the cause's usual remedy where no framework is named."""
    releases = _releases(machine)
    for name, release in releases.items():
        yield from install_framework(machine, name, near=release)
    if not releases:
        yield from remedy(cause)


def install_for_gpu(machine: MachineView, cause: str) -> Iterator[Fix]:
    """Yield the fixes that install the newest release with kernels for the stated GPUs; the cause's usual remedy where none is stated."""
    known = [gpu for gpu in machine.gpus if not isinstance(gpu.capability_or_missing, Missing)]
    names = _releases(machine) if known else {}
    for name in names:
        yield from install_framework(machine, name)
    if not names:
        yield from remedy(cause)


def _releases(machine: MachineView) -> dict[str, str]:
    """Return the frameworks that a text is about, each with its release if that is stated."""
    stated = {framework.name: framework.release for framework in machine.frameworks}
    log = machine.observed.text_log
    lines = " ".join(line.value for line in log.lines).lower() if isinstance(log, TextLog) else ""
    return stated or {name: "" for name in TRAINED if name in lines or _ERRORS.get(name, name) in lines}


_ERRORS = {TORCH.name: "runtimeerror: cuda error"}
"""How the errors of a framework begin that do not name it."""
