"""GD114: amd-gpu-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package, installs_with_uv, interpreter
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.vendors import amd_gpus, built_for_amd, called
from gpudoctor.findings import Evidence, Fix, FixKind, Policy, Problem, Rung, Severity
from gpudoctor.snapshot import Missing, Pci, Python, Snapshot


@rule(
    "GD114",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "no-gpu",
                "no-driver",
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def amd_gpu_unsupported(pci: Pci, snapshot: Snapshot, policy: Policy, site: Site, python: Python | Missing) -> Iterator[Problem]:
    """The GPU is AMD's and the framework is built for CUDA.

    ## Why it matters
    CUDA is NVIDIA's alone. A framework reaches an AMD GPU through ROCm and only in a build for ROCm; a build for CUDA computes on the CPU
    beside the finest AMD card, without a word.

    ## What to do
    Install the ROCm build of the framework, if AMD supports the GPU: its compatibility matrix says so. ROCm supports few of the
    graphics units inside AMD's processors. Gpudoctor does not examine ROCm itself.

    ## References
    - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    - https://pytorch.org/get-started/locally/
    """
    if not site.has_pci:
        not_applicable("GPUs of this platform do not show on a PCI bus")
    theirs = amd_gpus(pci)
    if not theirs:
        return
    frameworks = () if isinstance(snapshot.frameworks, Missing) else snapshot.frameworks
    for_cuda = [one for one in frameworks if one.cuda_build is True]
    if not for_cuda or built_for_amd(snapshot):
        if isinstance(snapshot.frameworks, Missing):
            need(snapshot.frameworks)
        return
    names = ", ".join(one.name for one in for_cuda)
    torch = any(one.name == "torch" for one in for_cuda)
    yield Problem(
        severity=Severity.NOTE if policy.allow_cpu else None,
        message=f"{', '.join(map(called, theirs))}: {names} {'is' if len(for_cuda) == 1 else 'are'} built for CUDA, which an AMD GPU does not run.",
        evidence=(
            *(Evidence("GPU", called(one), f"/sys/bus/pci/devices/{one.address}") for one in theirs),
            *(
                Evidence(f"{one.name}'s build", "CUDA", one.location if isinstance(one.location, str) else one.distribution)
                for one in for_cuda
            ),
        ),
        fixes=(
            *(
                _rocm(python)
                if torch
                else (Fix("Install a build for ROCm, as AMD publishes it: https://rocm.docs.amd.com", needs=(DOWNLOAD,)),)
            ),
            Fix("Accept the CPU, and train on it", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD),
        ),
    )


def _rocm(python: Python | Missing) -> tuple[Fix, ...]:
    """PyTorch's build for ROCm. uv finds the index for the installed driver; pip would have to be told it, and no table holds it."""
    path = interpreter(python)
    uv, first = ("uv", "") if installs_with_uv(python) else (f"{path} -m uv", f"{install_package(python, 'uv')} && ")
    command = f"{first}{uv} pip install --python {path} --reinstall torch --torch-backend=auto"
    return (Fix("Install PyTorch's build for ROCm", command, (DOWNLOAD,)),)
