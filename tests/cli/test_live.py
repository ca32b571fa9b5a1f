"""Live progress: one changing line in a terminal, plain lines elsewhere, silence when asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.cli.live import Watch
from gpudoctor.progress import Event
from tests.cli.command import LOOK, in_terminal

STORY = (
    Event("begin", "inventory"),
    Event("end", "inventory"),
    Event("begin", "smoke training"),
    Event("begin", "import", "tensorflow"),
    Event("end", "import", "tensorflow"),
    Event("begin", "training", "tensorflow GPU:0"),
    Event("number", "loss", "tensorflow GPU:0", 0.123456),
    Event("note", "GPU 1 is left alone: \x1b[31mbusy", "tensorflow"),
    Event("begin", "a stage of a later version"),
    Event("end", "smoke training"),
)


def _told(capfd: pytest.CaptureFixture[str], *, live: bool, lines: bool) -> str:
    with Watch(live=live, lines=lines, slow=0) as watch:
        for event in STORY:
            watch(event)
    return capfd.readouterr().err


def test_plain_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert _told(capfd, live=False, lines=True).splitlines() == [
        "gpudoctor: looking at the machine",
        "gpudoctor: tensorflow: importing it",
        "gpudoctor: tensorflow GPU:0: training",
        "gpudoctor: tensorflow: GPU 1 is left alone: ?[31mbusy",
        "gpudoctor: a stage of a later version",
    ]


def test_a_terminal_shows_one_line_with_numbers_and_ends_clean(capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, live=True, lines=False)
    assert "\n" not in told
    drawn = told.split("\r\x1b[2K")
    assert "gpudoctor: tensorflow GPU:0: training, loss 0.1235 ..." in drawn
    assert drawn[-1] == ""


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    assert _told(capfd, live=False, lines=False) == ""


def test_in_a_terminal_it_speaks_at_once_and_leaves_nothing() -> None:
    first, told = in_terminal(*LOOK, "--format", "json", stream="stderr")
    assert "looking at the machine" in told
    assert told.endswith("\r\x1b[2K")
    assert 0 < first < 3  # 0.3 s on a quiet machine, interpreter included; scripts/benchmark measures


def test_a_dumb_terminal_gets_a_line_for_what_is_slow(tmp_path: Path) -> None:
    target = tmp_path / "python"
    target.write_text("#!/bin/sh\nexec sleep 60\n")
    target.chmod(0o755)
    first, told = in_terminal("check", "--no-smoke", "--python", str(target), "--timeout", "2", stream="stderr", TERM="dumb")
    assert told == "gpudoctor: looking at the machine\r\n"
    assert 0 < first < 2


def test_quiet_in_a_terminal() -> None:
    assert in_terminal(*LOOK, "--quiet", stream="stderr") == (0.0, "")
