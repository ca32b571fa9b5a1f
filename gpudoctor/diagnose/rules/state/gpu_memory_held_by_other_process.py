"""GD709: gpu-memory-held-by-other-process."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.system import end_processes
from gpudoctor.diagnose.gpu_facts import GIB, MIB, hidden, known, offered, unless_it_failed
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.state.state import _names
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import GpuProcess

NOTHING_FREE = GIB // 2
"""Bytes of free device memory below which not even a framework's context and libraries fit."""


NEEDED = 2 * GIB
"""What a small training needs of device memory: context, kernels and library workspaces take most of it, whatever the model."""


@rule(
    "GD709",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(TRAINING_FAILS, ""),
        Explains(
            (
                "gpu-memory-insufficient",
                "gpu-behind-its-siblings",
                "gpu-slower-than-expected",
                "gpu-not-faster-than-cpu",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def gpu_memory_held_by_other_process(gpu: Gpu, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """Other programs hold so much of the GPU's memory that a training does not find room.

    ## Why it matters
    A training that gets no memory ends with "out of memory" in its first steps, or when it makes its context. Frameworks take most of
    the memory when they start, so a forgotten notebook is enough. Memory can also be held by processes that are not visible here: in
    another container, or dead and not yet cleaned up.

    ## What to do
    Look at who they are, and end those that are yours. Memory that nobody visible holds is another container's, or goes with a reset.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    if seen.mig_enabled is True:
        not_applicable("MIG: its instances have memory of their own")
    if hidden(gpu):
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    if gpu.integrated:
        not_applicable("an integrated GPU's memory is the host's")
    free, used, total = (offered(value) for value in (seen.memory_free, seen.memory_used, seen.memory_total))
    if free >= NEEDED:
        return
    compute = need(seen.compute_processes, Rung.NVML)
    drawing = seen.graphics_processes if isinstance(seen.graphics_processes, tuple) else ()
    drawn = sum(one.memory for one in drawing if isinstance(one.memory, int) and one.pid not in {other.pid for other in compute})
    if used - drawn < NEEDED - free:
        not_applicable("ending other programs would not give enough memory")
    holders = f"held by {_names(compute)}" if compute else "held by processes that are not visible here"
    yield Problem(
        message=f"{gpu.label}: {free // MIB} MiB of {total // MIB} are free; {used // MIB} MiB are used, {holders}.",
        severity=None if free < NOTHING_FREE else unless_it_failed(ladder, gpu),
        confidence=Confidence.CERTAIN if compute else Confidence.LIKELY,
        evidence=(
            Evidence("memory free, used", f"{free // MIB} MiB, {used // MIB} MiB", "nvmlDeviceGetMemoryInfo"),
            Evidence("compute processes", _names(compute) or "none visible", "NVML"),
        ),
        fixes=_free(compute, site),
    )


def _free(compute: tuple[GpuProcess, ...], site: Site) -> tuple[Fix, ...]:
    """End those that are known; others are found by who has the device files open."""
    end = end_processes(compute, site)
    if end is not None:
        return (end,)
    look = Fix("See who has the device open", "sudo fuser -v /dev/nvidia*", (ROOT,), kind=FixKind.CHECK)
    return look, Fix("End the processes that hold the GPU's memory; what a dead one holds is freed by a reset of the GPU.", needs=(ROOT,))
