"""GD9: GPUs that computed and were slower than they should be, as measured."""

from __future__ import annotations

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import stage_of
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.load_facts import before, during, explanation
from gpudoctor.diagnose.rule import need
from gpudoctor.findings import Evidence, Fix, Rung
from gpudoctor.snapshot import Smoke, Snapshot


def _smokes(snapshot: Snapshot) -> tuple[Smoke, ...]:
    return need(snapshot.smoke, Rung.FRAMEWORK)


def _watched(gpu: Gpu, siblings: list[Gpu], snapshot: Snapshot, measured: tuple[tuple[str, str], ...]) -> tuple[str, tuple[Evidence, ...]]:
    """What was seen of the GPU in these stages of these frameworks: a sentence where it explains, and the evidence, that before the training where there is none."""
    stages = [(one, stage) for one in measured if (stage := stage_of(snapshot, gpu.key, *one))]
    others = {one: tuple(stage for other in siblings if (stage := stage_of(snapshot, other.key, *one))) for one, _ in stages}
    why = next((words for one, stage in stages if (words := explanation(gpu, stage, others[one]))), "")
    return why, tuple(row for _, stage in stages for row in during(gpu, stage)) or before(gpu)


def _unlock(gpu: Gpu) -> Fix:
    """What somebody may have locked or set."""
    command = f"sudo nvidia-smi -i {gpu.key} -rgc; sudo nvidia-smi -i {gpu.key} -rac"
    return Fix("Reset its clocks, in case somebody has locked them or set application clocks", command, (ROOT,))
