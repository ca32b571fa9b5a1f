"""A signal that Python loses in a callback of its own ends a check all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import weakref

import pytest

from gpudoctor.check.interrupts import CheckInterrupted, Interrupts

COMMAND = """
import os, signal, time, weakref
from gpudoctor.cli import examine

class Thing: pass

def work(**_):
    thing = Thing()
    kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGHUP))
    del thing
    time.sleep(5)

examine.progress_display.display_for_terminal = work
from gpudoctor.cli import run_and_exit
run_and_exit()
"""


SLOW = """
import signal, time

def setitimer(*given, start=signal.setitimer):
    start(*given)
    time.sleep(0.2)

signal.setitimer = setitimer
"""
"""The hook is still at work when the signal comes again, as on a busy machine."""


WHILE_TYPES_ARE_READ = """
from __future__ import annotations
import os, signal
import msgspec
from gpudoctor.check.interrupts import CheckInterrupted, Interrupts
from gpudoctor.children.channel import decoder

def kick():
    os.kill(os.getpid(), signal.SIGTERM)
    return int

class Inner(msgspec.Struct, tag=True):
    known: int
    kicking: kick()

class Outer(msgspec.Struct, tag=True):
    inner: Inner

with Interrupts() as interrupts:
    interrupts.allow()
    try:
        decoder((Outer,))
    except CheckInterrupted:
        print("interrupted")
    print(decoder((Outer,)).decode(b'{"type":"Outer","inner":{"type":"Inner","known":1,"kicking":2}}'))
"""


class Thing:
    """Something whose end calls back."""


def signalled(number: int) -> None:
    """Get a signal in a callback, and wait."""
    thing = Thing()
    kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), number))
    del thing
    assert kept() is None
    time.sleep(2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_callback_interrupts_a_moment_later(number: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    with Interrupts() as interrupts:
        interrupts.allow()
        with pytest.raises(CheckInterrupted) as stopped:
            signalled(number)
    assert stopped.value.number == number
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("before", ["", SLOW])
def test_a_command_ends_by_a_signal_that_came_in_a_callback(before: str) -> None:
    done = subprocess.run(
        (sys.executable, "-c", before + COMMAND, "check", "--no-smoke"), capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 128 + signal.SIGHUP
    assert done.stderr == "gpudoctor: Stopped by SIGHUP before anything was found.\n"


def test_any_other_exception_in_a_callback_goes_where_it_went_before(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[type[BaseException] | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: taken.append(lost.exc_type))
    with Interrupts():
        thing = Thing()
        kept = weakref.ref(thing, lambda _: 1 // 0)
        del thing
    assert kept() is None
    assert taken == [ZeroDivisionError]


def test_a_signal_while_an_answer_s_types_are_read_spoils_none() -> None:
    done = subprocess.run((sys.executable, "-c", WHILE_TYPES_ARE_READ), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\nOuter(inner=Inner(known=1, kicking=2))\n"


AFTERWARDS = """
import os, signal
from gpudoctor import cli
from gpudoctor.cli import examine
from gpudoctor.__main__ import main

def run():
    signal.signal(signal.SIGTERM, examine._raise_interrupt)
    os.kill(os.getpid(), signal.SIGTERM)

cli.run_and_exit = run
main()
"""


def test_a_signal_after_the_report_is_told_by_its_own_exit_code() -> None:
    done = subprocess.run((sys.executable, "-c", AFTERWARDS), capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
