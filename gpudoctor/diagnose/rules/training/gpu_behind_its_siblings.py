"""GD941: gpu-behind-its-siblings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from gpudoctor.derive import Gpu, Hardware, Site
from gpudoctor.derive.load import holds, loads_of, stage_of, words
from gpudoctor.derive.stages import work
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.training.clocks import _free
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import NOT_ASKED, Missing, Snapshot, Span, StageLoad

BEHIND = 0.85
"""Of the mean clock of the others: chips of one model differ by a few percent under the same load."""


WEAK = BEHIND**3
"""Of their mean power, which falls with the third power of the clock, as voltage falls with it."""


ENOUGH = 3
"""Samples of a stage by which a GPU can be compared."""


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; importing statistics takes 6 ms."""
    return sum(values) / len(values)


def _others(gpu: Gpu, hardware: Hardware, snapshot: Snapshot, framework: str, own: StageLoad) -> list[StageLoad]:
    """The same stage of the same framework on the other GPUs of this model."""
    alike = (one for one in hardware if one.key != gpu.key and isinstance(one.name, str) and one.name == gpu.name)
    stages = (stage_of(snapshot, one.key, framework, own.stage, own.network) for one in alike)
    return [one for one in stages if one is not None and one.samples >= ENOUGH]


def _behind(own: StageLoad, others: list[StageLoad]) -> Iterator[tuple[str, Evidence]]:
    """Its clock or its power far from the mean of the others, in words."""
    where = f"NVML, {own.samples} samples during {work(own.stage, own.network)}"
    clocks = [one.clock_sm.median for one in others if isinstance(one.clock_sm, Span)]
    if clocks and isinstance(own.clock_sm, Span) and own.clock_sm.median < BEHIND * mean(clocks):
        told = f"{own.clock_sm.median:,} MHz, the others {mean(clocks):,.0f} MHz on average"
        yield f"ran at {told}", Evidence("SM clock, mean of the others", told, where)
    powers = [one.power for one in others if isinstance(one.power, int)]
    most = mean(powers) / WEAK if len(powers) > 1 else inf  # of two GPUs the one that draws less is the one to look at
    if powers and isinstance(own.power, int) and not WEAK * mean(powers) <= own.power <= most:
        told = f"{own.power / 1000:.0f} W, the others {mean(powers) / 1000:.0f} W on average"
        yield f"drew {told}", Evidence("power at most, mean of the others", told, where)


@rule(
    "GD941",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    of_training=True,
    explains=(
        Explains(
            (
                "gpu-slower-than-expected",
                "gpu-not-faster-than-cpu",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def gpu_behind_its_siblings(gpu: Gpu, hardware: Hardware, snapshot: Snapshot, site: Site) -> Iterator[Problem]:
    """Under the same load the GPU's clock or power is far from that of the others of its model.

    ## Why it matters
    GPUs of one model behave alike under one load. A training over several waits for the slowest, so one that clocks lower costs as much as
    if all did. The smoke training gave each GPU the same work while NVML watched.

    ## What to do
    Look at what held its clocks. Heat of one card is airflow or its heat sink, a power brake its cables. Clocks that somebody has locked are
    unlocked by a command. One that nothing explains is a case for the vendor: swap it with a sibling first, to see whether the slot is why.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    compared, found = False, {}
    for load in loads_of(snapshot, gpu.key):
        for stage in load.stages:
            others = _others(gpu, hardware, snapshot, load.framework, stage) if stage.samples >= ENOUGH else []
            compared = compared or bool(others)
            found.update({text: (row, stage) for text, row in _behind(stage, others)})
    if not compared:
        need(Missing(NOT_ASKED.cause, "no other GPU of its model was trained on alike"), Rung.TRAINED)
    if not found:
        return
    held = words(holds(tuple(stage for _, stage in found.values())))
    yield Problem(
        message=f"{gpu.label} {'; '.join(found)} under the same load{f', held by {held}' if held else ''}.",
        confidence=Confidence.LIKELY,
        evidence=tuple(row for row, _ in found.values()),
        fixes=(
            Fix(
                "See what holds its clocks while it works",
                f"nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE -i {gpu.key}",
                kind=FixKind.CHECK,
            ),
            _free(gpu, site),
            Fix(
                "Swap the card with one of its siblings, to see whether slot and cooling or the card is at fault.",
                needs=(ROOT, "reboot"),
                kind=FixKind.ELSE,
            ),
        ),
    )
