"""GD910: gpu-not-faster-than-cpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.diagnose.rules.training.speed import _smokes, _unlock, _watched
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import NOT_ASKED, Missing, Smoke, Snapshot, Speed


def _compared(gpu: Gpu, smokes: tuple[Smoke, ...]) -> list[tuple[str, Speed]]:
    return [(smoke.framework, speed) for smoke in smokes for speed in smoke.speeds if speed.address == gpu.key]


@rule(
    "GD910",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    sees_more_at=Level.TRAIN,
    of_training=True,
)
def gpu_not_faster_than_cpu(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU trains a convolutional network no faster than the CPU beside it.

    ## Why it matters
    The same network was trained for a moment on the GPU and on this machine's CPU, with 1024 images a step that already lay there. A GPU
    that is in order wins by far. One that does not is held back, shared with others, or too small to be worth its trouble.

    ## What to do
    Look at who else uses the GPU, at its clocks and their reasons while it works, and at its link. A small GPU beside a CPU of many
    cores may be in order all the same: then train on the CPU.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    compared = _compared(gpu, _smokes(snapshot))
    if not compared:
        need(Missing(NOT_ASKED.cause, "no framework compared its speed with the CPU's"), Rung.TRAINED)
    for framework, speed in compared:
        here, there = speed.samples_per_second, speed.cpu_samples_per_second
        if not isinstance(here, int | float) or not isinstance(there, int | float):
            continue
        if here <= there:
            why, seen = _watched(gpu, [], snapshot, ((framework, "speed"),))
            yield Problem(
                message=f"{gpu.label}: {framework} trains {here:,.0f} images a second on it and {there:,.0f} on the CPU.{why}",
                evidence=(
                    Evidence(
                        "images a second on the GPU, on the CPU", f"{here:,.0f}, {there:,.0f}", f"{framework}, {speed.network} network"
                    ),
                    *seen,
                ),
                fixes=(
                    Fix(
                        "Look at who uses it, its clocks and what holds them, while it trains",
                        f"nvidia-smi -q -d UTILIZATION,CLOCK,PERFORMANCE,POWER,TEMPERATURE -i {gpu.key}",
                        kind=FixKind.CHECK,
                    ),
                    _unlock(gpu),
                    Fix("Train on the CPU", "export CUDA_VISIBLE_DEVICES=", kind=FixKind.INSTEAD),
                ),
            )
