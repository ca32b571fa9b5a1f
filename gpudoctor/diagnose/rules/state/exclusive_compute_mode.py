"""GD705: exclusive-compute-mode."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.system import end_processes
from gpudoctor.diagnose.gpu_facts import hidden, known, offered
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.state.state import _default_mode, _names
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import GpuProcess

_MPS_SERVER = "nvidia-cuda-mps-server"


_EXCLUSIVE = ("exclusive-process", "exclusive-thread")


@rule(
    "GD705",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_RAN,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def exclusive_compute_mode(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """The GPU admits one process at a time.

    ## Why it matters
    In the compute mode exclusive-process the second program gets error 46, "all CUDA-capable devices are busy or unavailable", however
    much memory is free; so does a training that starts a process of its own for each worker. Clusters set it on purpose, and MPS
    is mostly run this way: then its server is the one process.

    ## What to do
    Wait for the process that has the GPU or end it, take another GPU, or set the mode to DEFAULT.

    ## References
    - https://docs.nvidia.com/deploy/mps/
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    if offered(seen.compute_mode) not in _EXCLUSIVE:
        return
    if hidden(gpu):
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    holders = need(seen.compute_processes, Rung.NVML)
    shared = any(isinstance(one.name, str) and one.name == _MPS_SERVER for one in holders)
    taken = f"{_names(holders)} has it" if holders else "it is free"
    yield Problem(
        message=f"{gpu.label} is in the compute mode {seen.compute_mode}: one process at a time, and {taken}.",
        severity=None if holders and not shared else Severity.NOTE,
        evidence=(
            Evidence("compute mode", str(seen.compute_mode), "nvmlDeviceGetComputeMode"),
            *((Evidence("compute processes", _names(holders), "NVML"),) if holders else ()),
        ),
        fixes=_one_at_a_time(gpu, holders if not shared else (), site),
    )


def _one_at_a_time(gpu: Gpu, holders: tuple[GpuProcess, ...], site: Site) -> tuple[Fix, ...]:
    """Any number of programs may use the GPU, or the one that has it ends."""
    end = end_processes(holders, site)
    return (_default_mode(gpu, site), *((msgspec.structs.replace(end, kind=FixKind.INSTEAD),) if end else ()))
