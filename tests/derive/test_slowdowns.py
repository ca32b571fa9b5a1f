"""Why and for how long clocks were throttled."""

from __future__ import annotations

import pytest

from gpudoctor.derive.slowdowns import HeldTime, Slowdown, held_time, sampled_slowdown
from gpudoctor.derive.telemetry import is_training_unseen, throttle_text
from gpudoctor.diagnose.rules.training.slowdowns import duration_text
from gpudoctor.snapshot import NOT_ASKED, GpuLoad, Held, HeldBack, Missing, NvmlGpu, StageKind, StageLoad
from tests.builders import TIMED_OUT

SECOND = 1_000_000_000


def gpu(first: HeldBack | Missing, later: HeldBack | Missing = NOT_ASKED) -> NvmlGpu:
    return NvmlGpu(index=0, held_back=first, held_back_later=later)


@pytest.mark.parametrize(
    ("first", "later", "total", "grown"),
    [
        (HeldBack(thermal=5), HeldBack(thermal=8), 5, 3),
        (HeldBack(thermal=8), HeldBack(thermal=5), 8, 0),
        (HeldBack(thermal=5), NOT_ASKED, 5, 0),
        (HeldBack(thermal=5), HeldBack(), 5, 0),
        (HeldBack(), HeldBack(thermal=8), 0, 0),
        (HeldBack(thermal=9, thermal_by_driver=2), HeldBack(thermal=9, thermal_by_driver=3), 2, 1),
        (HeldBack(thermal=2, thermal_by_driver=9), HeldBack(thermal=2, thermal_by_driver=9), 9, 0),
        (HeldBack(power=9), HeldBack(power=99), 0, 0),
        (TIMED_OUT, TIMED_OUT, 0, 0),
    ],
)
def test_of_several_counters_the_one_that_rises_counts_then_the_longest(
    first: HeldBack | Missing, later: HeldBack | Missing, total: int, grown: int
) -> None:
    assert held_time(gpu(first, later), ("thermal", "thermal_by_driver")) == HeldTime(total, grown)


def test_a_gpu_without_answers_was_held_for_no_time() -> None:
    assert held_time(TIMED_OUT, ("thermal",)) == HeldTime()
    assert not HeldTime().is_relevant
    assert not HeldTime(SECOND - 1).is_relevant
    assert HeldTime(SECOND).is_relevant
    assert HeldTime(0, 1).is_relevant


def test_a_slowdown_counts_the_samples_with_a_wanted_reason_and_no_other() -> None:
    held = (Held(0x1, 5), Held(0x20, 3), Held(0x24, 2), Held(0x60, 4))
    assert sampled_slowdown(held, 0x20) == Slowdown(0x64, 9, 14)
    assert sampled_slowdown(held, 0x20, unless=0x4) == Slowdown(0x60, 7, 14)
    assert sampled_slowdown(held, 0x80) is None
    assert sampled_slowdown((), 0x20) is None
    assert Slowdown(0x20, 1, 1).under_load
    assert not Slowdown(0x20).under_load


def test_each_reason_is_told_with_its_share() -> None:
    assert throttle_text((Held(0x24, 2), Held(0x4, 3), Held(0x1, 5))) == "the power limit in 5 of 10 samples, heat in 2 of 10 samples"
    assert throttle_text((Held(0x1, 5),)) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (1, "1.0 s"), (119.9, "119.9 s"), (120, "2 min"), (7199, "120 min"), (7200, "2.0 h"), (360_000, "100.0 h")],
)
def test_a_duration_in_words(seconds: float, words: str) -> None:
    assert duration_text(HeldTime(round(seconds * SECOND))) == words


def load(*seconds: float, listed: bool = False, before: int = 100, most: int = 100, utilization: int = 0) -> GpuLoad:
    stages = tuple(StageLoad(StageKind.TRAINING, 5, length) for length in seconds)
    return GpuLoad("torch", "0000:01:00.0", stages, memory_before=before, memory_most=most, utilization=utilization, listed=listed)


def test_training_is_unseen_only_if_nothing_at_all_shows_it_for_long_enough() -> None:
    assert is_training_unseen(load(2.0))
    assert is_training_unseen(load(0.9, 1.1))
    assert is_training_unseen(load(3.0, most=99))
    assert not is_training_unseen(load(1.9))
    assert not is_training_unseen(load(3.0, listed=True))
    assert not is_training_unseen(load(3.0, most=101))
    assert not is_training_unseen(load(3.0, utilization=1))
    assert not is_training_unseen(GpuLoad("torch", "0000:01:00.0", load(3.0).stages, listed=False, utilization=0))
