"""The line of a GPU's sensors and of the proof of place on the page of `gpudoctor smoke`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.report.telemetry import telemetry_line
from gpudoctor.snapshot import Cause, GpuLoad, Held, Loads, Missing, Span, StageKind, StageLoad
from tests.builders import address, machine, smoke

MIB = 1 << 20
STAGES = (
    StageLoad(
        StageKind.TRAINING,
        30,
        3.0,
        clock_sm=Span(210, 1095, 1410),
        power=398_000,
        power_limit=400_000,
        temperature=71,
        held=(Held(0x4, 30),),
    ),
    StageLoad(
        StageKind.SPEED, 10, 1.0, clock_sm=Span(1300, 1305, 1410), power=310_000, power_limit=400_000, temperature=69, held=(Held(0x1, 10),)
    ),
)
LOAD = GpuLoad(
    "tensorflow", address(0), STAGES, memory_before=5 * MIB, memory_most=1029 * MIB, utilization=97, listed=True, own_memory=900 * MIB
)
HIDDEN = Missing(Cause.UNSUPPORTED, "not these numbers")
SENSORS = "SM clock 1,095 to 1,305 MHz, 398 of 400 W, 71 °C; clocks held by the power limit in 30 of 40 samples"


def line(cut: str = "", device: str = "GPU:0", **changes: Any) -> str:
    loads = Loads((msgspec.structs.replace(LOAD, **changes),), 4.0, 0.1, cut=cut)
    return telemetry_line(machine(loads=loads), smoke(), device)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, "its process with 900 MiB"),
        ({"own_memory": HIDDEN}, "its process"),
        ({"listed": False}, "none of its processes"),
        ({"listed": HIDDEN}, "processes not visible, +1,024 MiB in use"),
        ({"listed": HIDDEN, "memory_most": HIDDEN}, "processes not visible"),
    ],
)
def test_a_gpu_has_a_line(changes: dict[str, Any], place: str) -> None:
    assert line(**changes) == f"{place}; {SENSORS}"


def test_what_was_not_told_is_left_out() -> None:
    assert line(stages=(StageLoad(StageKind.TRAINING, 3, 0.2),)) == "its process with 900 MiB"


def test_where_the_samples_end_early_it_says_why() -> None:
    assert line(cut="the sampling was killed").endswith("; then no more: the sampling was killed")


def test_a_device_that_was_not_watched_has_none() -> None:
    assert line(device="GPU:1") == line(device="CPU:0") == ""
    assert telemetry_line(machine(), smoke(), "GPU:0") == ""


def test_a_watch_that_failed_says_so() -> None:
    failed = machine(loads=Missing(Cause.FAILED, "nvmlInit answered 18"))
    assert (telemetry_line(failed, smoke(), "GPU:0"), telemetry_line(failed, smoke(), "CPU:0")) == ("nothing: nvmlInit answered 18", "")
