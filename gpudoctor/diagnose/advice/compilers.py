"""Which CUDA release compiles for a GPU that a text names, or for the architecture that a compiler in it refused."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.diagnose.advice.message_fixes import log_match
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Fix
from gpudoctor.matrix import CudaRelease
from gpudoctor.matrix.tables import CUDA

REFUSED = expression(
    r"(?:[Uu]nsupported (?:gpu|CUDA) architecture|\bValue) '(?P<target>(?:compute|sm)_\d{2,3})[af]?'(?: is not defined for option 'gpu-architecture')?"
)
"""nvcc, of an architecture that it does not know."""


def another_toolkit(machine: MachineView) -> Fix | None:
    """Return the fix that compiles with a CUDA release which knows the architecture that nvcc refused; None if no line names one that any knows."""
    refused = log_match(machine, REFUSED)
    target = refused["target"].replace("compute", "sm") if refused else ""
    knowing = _knowing(machine, target)
    if not knowing:
        return None
    if knowing[-1] is _releases(machine)[-1]:
        since = knowing[0].release.short
        title = f"Install CUDA toolkit {since} or newer, the first that compiles for {target}, and put it before any other nvcc on PATH"
        command = "export CUDA_HOME=/usr/local/cuda PATH=/usr/local/cuda/bin:$PATH"
        return Fix(title, command, action=Action.INSTALL_PACKAGE)
    last = knowing[-1].release.short
    title = (
        f"Take {target} out of the architectures that the build compiles for, or build with CUDA {last} or older: newer toolkits cannot."
    )
    return Fix(title, action=Action.INSTALL_PACKAGE)


def build_for_stated(machine: MachineView, *, newer: bool) -> Fix | None:
    """Return the fix that asks for a build for a CUDA release that knows every stated GPU, the first or the last such; None if a GPU is unknown."""
    found = [compute_capability(gpu, machine.matrix) for gpu in machine.hardware]
    places = [place for place in found if place is not None]
    if not places or len(places) < len(found):
        return None
    place = max(places) if newer else min(places)
    knowing = _knowing(machine, f"sm_{place.major}{place.minor}")
    if not knowing or (not newer and knowing[-1] is _releases(machine)[-1]):
        return None
    if newer:
        title = f"Install a build for CUDA {knowing[0].release.short} or newer, the first with kernels for compute capability {place}."
    else:
        title = f"Install a build for CUDA {knowing[-1].release.short} or older, or the last release with kernels for compute capability {place}."
    return Fix(title, action=Action.INSTALL_PACKAGE)


def _knowing(machine: MachineView, target: str) -> list[CudaRelease]:
    """Return the CUDA releases whose compiler knows an architecture, oldest first."""
    return [row for row in _releases(machine) if target in (row.sass or ())]


def _releases(machine: MachineView) -> list[CudaRelease]:
    return [row for row in machine.matrix.rows(CUDA) if row.sass]
