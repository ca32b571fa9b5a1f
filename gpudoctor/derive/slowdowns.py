"""Why and for how long a GPU's clocks were throttled."""

from __future__ import annotations

from functools import reduce
from operator import or_

import msgspec

from gpudoctor.snapshot import Held, HeldBack, Missing, NvmlGpu

SLOWER_SHARE = 0.9
"""Share of the possible clock: speed falls with the clock, so a clearly lower one explains a low rate."""
_ONE_SECOND = 1_000_000_000


class Slowdown(msgspec.Struct, frozen=True):
    """A slowdown that NVML reported: its reasons and in how many samples."""

    reasons: int
    samples: int = 0
    of: int = 0
    """All samples of its training runs; 0 if NVML reported the slowdown when first queried."""

    @property
    def under_load(self) -> bool:
        """Whether it was seen during a training run."""
        return self.of > 0


def sampled_slowdown(held: tuple[Held, ...], wanted: int, unless: int = 0) -> Slowdown | None:
    """The slowdown in these samples for one of the `wanted` reasons and none of `unless`; None if there is none."""
    fitting = [sample for sample in held if sample.reasons & wanted and not sample.reasons & unless]
    if not fitting:
        return None
    reasons = reduce(or_, (sample.reasons for sample in fitting))
    return Slowdown(reasons, sum(sample.samples for sample in fitting), sum(sample.samples for sample in held))


class HeldTime(msgspec.Struct, frozen=True):
    """How long something throttled the clocks: since the driver was loaded, and between two looks, in nanoseconds."""

    total: int = 0
    grown: int = 0

    @property
    def now(self) -> bool:
        """Whether it throttles them now."""
        return self.grown > 0

    @property
    def is_relevant(self) -> bool:
        """Whether it throttles them now or did for a second: no training run shows less."""
        return self.now or self.total >= _ONE_SECOND


def held_time(nvml: NvmlGpu | Missing, counters: tuple[str, ...]) -> HeldTime:
    """The longest time in one of these counters of HeldBack; zero if NVML has none of them."""
    if isinstance(nvml, Missing) or isinstance(nvml.held_back, Missing):
        return HeldTime()
    times = (_time_held(nvml.held_back, nvml.held_back_later, counter) for counter in counters)
    return max(times, key=lambda time: (time.grown, time.total))


def _time_held(first: HeldBack, later: HeldBack | Missing, counter: str) -> HeldTime:
    before, after = getattr(first, counter), getattr(later, counter, None)
    if not isinstance(before, int):
        return HeldTime()
    return HeldTime(before, max(0, after - before) if isinstance(after, int) else 0)
