"""Live progress: one changing line in a terminal, plain lines elsewhere, silence when asked."""

# ruff: noqa: RUF001 -- a cross is what is tested
from __future__ import annotations

import io
import math
import signal
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.cli.progress_display import ProgressDisplay
from gpudoctor.progress import Event
from tests.cli.command import LOOK, in_terminal

STORY = (
    Event("begin", "inventory"),
    Event("end", "inventory"),
    Event("begin", "smoke training"),
    Event("begin", "import", "tensorflow"),
    Event("end", "import", "tensorflow"),
    Event("begin", "training", "tensorflow", "", "GPU:0"),
    Event("number", "loss", "tensorflow", "", "GPU:0", 0.123456),
    Event("note", "GPU 1 is left alone: \x1b[31mbusy", "tensorflow"),
    Event("begin", "a stage of a later version"),
    Event("end", "smoke training"),
)


def _told(capfd: pytest.CaptureFixture[str], *, live: bool, lines: bool) -> str:
    with ProgressDisplay(live=live, lines=lines, slow=0) as watch:
        for event in STORY:
            watch(event)
    return capfd.readouterr().err


def test_plain_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert _told(capfd, live=False, lines=True).splitlines() == [
        "gpudoctor: looking at the machine",
        "gpudoctor: tensorflow: importing",
        "gpudoctor: tensorflow GPU:0: training",
        "gpudoctor: tensorflow: GPU 1 is left alone: ?[31mbusy",
        "gpudoctor: a stage of a later version",
    ]


def test_what_level_full_measures_is_said_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(live=False, lines=True, slow=0) as watch:
        for stage in ("copies", "memory", "products", "compiled step", "speed"):
            watch(Event("begin", stage, "torch", "", "GPU:1"))
        watch(Event("begin", "agreement", "torch", "convolutional", "GPU:1"))
        watch(Event("begin", "all-reduce", "torch"))
    assert [line.removeprefix("gpudoctor: torch") for line in capfd.readouterr().err.splitlines()] == [
        " GPU:1: measuring copies",
        " GPU:1: measuring memory",
        " GPU:1: measuring matmul",
        " GPU:1: compiling a step",
        " GPU:1: comparing speed with the CPU",
        " GPU:1: comparing results with the CPU (convolutional)",
        ": running all-reduce",
    ]


def test_a_terminal_shows_one_line_with_numbers_and_ends_clean(capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, live=True, lines=False)
    assert "\n" not in told
    drawn = told.split("\r\x1b[2K")
    assert "tensorflow GPU:0: training, loss 0.123" in drawn
    assert drawn[-1] == ""


@pytest.mark.parametrize(
    ("encoding", "curves"),
    [
        ("utf-8", ("█▆▅▃▁", "██▇▆▅▅▄▄▃▂▁▁", "██▇▆▅▄▄▃▂▁▁×")),
        ("ascii", ("@*+-.", "@@#*++==-:..", "@@#*+==-:..x")),
    ],
)
def test_steps_are_shown_with_a_curve_that_fits_the_line(
    encoding: str, curves: tuple[str, str, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudoctor.cli.progress_display._PAUSE_SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    with ProgressDisplay(live=True, lines=False, slow=0) as watch:
        watch(Event("begin", "training", "torch", "convolutional", "GPU:0"))
        for step in range(10, 310, 10):
            watch(Event("number", "loss", "torch", "", "GPU:0", math.exp(-step / 30), step, 300))
        watch(Event("number", "loss", "torch", "", "GPU:0", math.nan, 300, 300))
    drawn = capfd.readouterr().err.split("\r\x1b[2K")
    doing, (early, late, odd) = "torch GPU:0: training (convolutional)", curves
    assert f"{doing}  50/300, loss 0.189 {early}" in drawn
    assert drawn[-3:] == [f"{doing} 300/300, loss 4.54e-05 {late}", f"{doing} 300/300, loss nan {odd}", ""]
    assert max(map(len, drawn)) < 80


def test_a_short_stage_has_room_for_a_bar(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    with ProgressDisplay(live=True, lines=False, slow=0) as watch:
        watch(Event("begin", "training", "torch", "", "GPU:0"))
        watch(Event("number", "loss", "torch", "", "GPU:0", 0.5, 150, 300))
    assert "torch GPU:0: training ████░░░░ 150/300, loss 0.5 ▁" in capfd.readouterr().err.split("\r\x1b[2K")


def test_the_clock_moves_on_without_events(capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(live=True, lines=False) as watch:
        watch(Event("begin", "import", "torch"))
        end = time.monotonic() + 2.2
        while time.monotonic() < end:
            time.sleep(0.1)  # goes on after the alarm, as poll does
    assert "torch: importing, 2 s ..." in capfd.readouterr().err
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    assert _told(capfd, live=False, lines=False) == ""


def test_in_a_terminal_it_speaks_at_once_and_leaves_nothing() -> None:
    first, told = in_terminal(*LOOK, "--format", "json", stream="stderr")
    assert "looking at the machine" in told
    assert told.endswith("\r\x1b[2K")
    assert 0 < first < 3  # 0.3 s on a quiet machine, interpreter included; scripts/bench/startup measures


def test_a_dumb_terminal_gets_a_line_for_what_is_slow(tmp_path: Path) -> None:
    target = tmp_path / "python"
    target.write_text("#!/bin/sh\nexec sleep 60\n")
    target.chmod(0o755)
    first, told = in_terminal("check", "--no-smoke", "--python", str(target), "--timeout", "2", stream="stderr", TERM="dumb")
    assert told == "gpudoctor: looking at the machine\r\n"
    assert 0 < first < 2


def test_quiet_in_a_terminal() -> None:
    assert in_terminal(*LOOK, "--quiet", stream="stderr") == (0.0, "")
