"""How rules read why a GPU's clocks were held back: at the first look, or while it was trained on."""

from __future__ import annotations

from functools import reduce
from operator import or_

import msgspec

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import holds, loads_of
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing, Snapshot, StageLoad

REASONS, WATCHED = "NVML, reasons for the present clocks", "NVML, while it was trained on"


def stages_of(gpu: Gpu, snapshot: Snapshot) -> tuple[StageLoad, ...]:
    """The stages of all trainings that ran on this GPU, as NVML saw it."""
    return tuple(stage for load in loads_of(snapshot, gpu.key) for stage in load.stages)


class Slowdown(msgspec.Struct, frozen=True):
    """A slowdown that was seen: its reasons and, where it was seen during a training, how often."""

    reasons: int
    often: str = ""

    @property
    def was(self) -> str:
        """The verb for a sentence about it."""
        return "was" if self.often else "is"

    def evidence(self, what: str) -> Evidence:
        """The observation, under the name `what`."""
        return Evidence(what, f"{self.often.lstrip(', ') or 'yes'} ({self.reasons:#x})", WATCHED if self.often else REASONS)


def slowdown(gpu: Gpu, snapshot: Snapshot, wanted: int, unless: int = 0) -> Slowdown | None:
    """Whether one of the `wanted` reasons was given without `unless`: while it was trained on, else at the first look. Ends the rule where neither is known."""
    held = holds(stages_of(gpu, snapshot))
    fitting = [one for one in held if one.reasons & wanted and not one.reasons & unless]
    if fitting:
        times, of = (sum(one.samples for one in several) for several in (fitting, held))
        return Slowdown(reduce(or_, (one.reasons for one in fitting)), f", in {times} of {of} samples during its training")
    first = known(gpu).clocks_event_reasons
    reasons = 0 if held and isinstance(first, Missing) else offered(first)
    return Slowdown(reasons) if reasons & wanted and not reasons & unless else None
