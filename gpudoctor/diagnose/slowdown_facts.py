"""How rules read why a GPU's clocks were held back: at the first look, or while it was trained on."""

from __future__ import annotations

from functools import reduce
from operator import or_

import msgspec

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import holds, loads_of
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import HeldBack, Missing, NvmlGpu, Snapshot, StageLoad

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


WORTH_A_WORD = 1_000_000_000
"""Nanoseconds: what was held back for less than a second since the driver was loaded, no training would show."""


class HeldFor(msgspec.Struct, frozen=True):
    """How long something held the clocks: since the driver was loaded, and between two looks, in nanoseconds."""

    total: int
    grown: int

    @property
    def now(self) -> bool:
        """Whether it holds them at this moment."""
        return self.grown > 0

    @property
    def matters(self) -> bool:
        """Whether it is worth a word."""
        return self.now or self.total >= WORTH_A_WORD

    @property
    def duration(self) -> str:
        """The total in words: 0.4 s, 12 min, 3.1 h."""
        seconds = self.total / 1e9
        if seconds < 120:
            return f"{seconds:.1f} s"
        return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

    def evidence(self, what: str) -> Evidence:
        """Both readings, under the name `what`."""
        more = f", {self.grown / 1e6:,.0f} ms more moments later" if self.now else ""
        return Evidence(f"time held by {what} since the driver was loaded", f"{self.duration}{more}", "NVML")


def held_for(gpu: Gpu, *names: str) -> HeldFor:
    """The longest of these counters of HeldBack; nothing where NVML has none of them."""
    seen = gpu.nvml
    if not isinstance(seen, NvmlGpu) or not isinstance(seen.held_back, HeldBack):
        return HeldFor(0, 0)
    found = [HeldFor(0, 0)]
    for name in names:
        first, later = getattr(seen.held_back, name), getattr(seen.held_back_later, name, None)
        if isinstance(first, int):
            found.append(HeldFor(first, max(0, later - first) if isinstance(later, int) else 0))
    return max(found, key=lambda one: (one.grown, one.total))
