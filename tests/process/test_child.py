"""How a child's end is told."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.process import ChildEnd, ChildOutcome, ChildSpec, Supervisor
from gpudoctor.process.child import RunningChild, end_of_text


@pytest.mark.parametrize(
    ("end", "fields", "words"),
    [
        (ChildEnd.EXITED, {}, ""),
        (ChildEnd.EXITED, {"mark": "nvmlInit"}, ""),
        (ChildEnd.EXITED, {"code": 3}, "ended with status 3"),
        (ChildEnd.EXITED, {"code": 1, "mark": "nvmlInit"}, "ended with status 1 in nvmlInit"),
        (ChildEnd.SIGNALLED, {"code": signal.SIGSEGV, "mark": "cuInit"}, "was killed by SIGSEGV in cuInit"),
        (ChildEnd.SIGNALLED, {"code": 40}, "was killed by signal 40"),
        (ChildEnd.OVERDUE, {"seconds": 12.4, "quiet": 0.9}, "was not finished after 12 s"),
        (ChildEnd.OVERDUE, {"seconds": 12.4, "quiet": 1.0}, "was not finished after 12 s, and did not respond for the last 1 s"),
        (
            ChildEnd.OVERDUE,
            {"seconds": 60.0, "quiet": 7.6, "mark": "cuInit"},
            "was not finished after 60 s in cuInit, and did not respond for the last 8 s",
        ),
        (ChildEnd.STALLED, {"quiet": 30.2, "mark": "cuInit"}, "did not respond for 30 s in cuInit"),
        (ChildEnd.FLOODED, {}, "answered with over 131,072 lines or 16 MiB"),
        (ChildEnd.STOPPED, {"mark": "cuInit"}, "was stopped in cuInit"),
        (ChildEnd.NOT_STARTED, {"reason": "No such file or directory"}, "could not be started: No such file or directory"),
    ],
)
def test_an_end_in_words(end: ChildEnd, fields: dict[str, Any], words: str) -> None:
    assert ChildOutcome(name="child", end=end, **fields).trouble == words


def ended(script: str, stall: float = 30, deadline: float = 60) -> ChildOutcome:
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="child", argv=(sys.executable, "-I", "-S", "-c", script), stall=stall, deadline=deadline))
        return supervisor.wait(["child"])["child"]


def test_a_program_starts_where_there_is_no_dev_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "devnull", "/nowhere/null")
    assert ended("import sys; sys.exit(len(sys.stdin.read()))").trouble == ""


@pytest.mark.parametrize(
    ("script", "limits", "end"),
    [
        ("pass", {}, ChildEnd.EXITED),
        ("import os; os.kill(os.getpid(), 11)", {}, ChildEnd.SIGNALLED),
        ("import time; time.sleep(60)", {"stall": 0.2}, ChildEnd.STALLED),
        ("import time; time.sleep(60)", {"deadline": 0.2}, ChildEnd.OVERDUE),
    ],
)
def test_a_child_that_disappears_was_not_stuck(script: str, limits: dict[str, float], end: ChildEnd) -> None:
    outcome = ended(script, **limits)
    assert (outcome.end, outcome.stuck, outcome.reason) == (end, False, "")
    assert 0 <= outcome.quiet <= outcome.seconds < 60


def test_a_child_in_an_uninterruptible_call_is_stuck_although_it_ends_when_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunningChild, "state", lambda _child: "D")
    assert ended("import time; time.sleep(60)", stall=0.2).stuck
    assert not ended("pass").stuck


def test_the_state_of_a_running_and_of_a_lost_process() -> None:
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="child", argv=("sleep", "60")))
        child = supervisor._running["child"]
        assert child.state() in {"R", "S", "D"}
        supervisor.stop()
        assert child.state() == ""


@pytest.mark.parametrize(
    ("text", "limit", "end"),
    [
        ("", 4, ""),
        ("abcd", 4, "abcd"),
        ("ab cd", 4, "cd"),
        ("abcde", 4, ""),
        ("abc de f", 4, "f"),
        ("a bcd", 4, "bcd"),
        ("ab\ncde\nf", 6, "cde\nf"),
        ("ab cde", 4, "cde"),
        ("ab cdef", 4, ""),
    ],
)
def test_the_end_of_a_text_begins_with_a_whole_word(text: str, limit: int, end: str) -> None:
    assert end_of_text(text, limit) == end


def test_what_cannot_be_read_is_closed(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)  # whose read is an error, as that of a terminal that hung up
    child = RunningChild(ChildSpec(name="child", argv=("true",)), None)
    assert not any(map(os.get_blocking, child.streams)), "another program may hold a pipe open for ever"
    child.streams[folder] = bytearray().extend
    assert not child.read(folder)
    assert folder not in child.streams
    child.process.wait()
    child.outcome(None)
    os.close(folder)
