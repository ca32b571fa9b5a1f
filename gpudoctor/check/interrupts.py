"""Ctrl-C, SIGTERM and the end of a terminal end a check in order: children first, then a report on what was seen."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SOON_SECONDS = 0.05


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that stop a check; nohup has SIGHUP ignored, and then it stays so."""
    kept = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM) if kept else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CheckInterrupted(BaseException):
    """A signal asked the check to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def handle_after_return(handler: Callable[[int, Any], None], number: int) -> None:
    """Handle a signal again when the caller has returned: its exception came in a callback of Python's, such as importlib's, which prints and forgets it.

    The caller is a sys.unraisablehook, where Python forgets exceptions too.
    """
    caller = sys._getframe(1)  # noqa: SLF001 -- the public way imports inspect

    def again(_: int, frame: FrameType | None) -> None:
        if not _is_running(caller, frame):
            signal.setitimer(signal.ITIMER_REAL, 0)
            handler(number, frame)

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, _SOON_SECONDS, _SOON_SECONDS)


def _is_running(caller: FrameType, frame: FrameType | None) -> bool:
    """Return whether a frame is the caller's, or is called by it."""
    while frame is not None and frame is not caller:
        frame = frame.f_back
    return frame is caller


class Interrupts:
    """Catches the signals while it is open and holds the first one back until `allow`: an interrupted import cannot be repeated."""

    def __init__(self) -> None:
        self._number = 0
        self._allowed = False

    def __enter__(self) -> Interrupts:  # noqa: PYI034 -- typing.Self is newer than Python 3.10
        self._before = {number: signal.signal(number, self._take) for number in stop_signals()}
        self._hook, sys.unraisablehook = sys.unraisablehook, self._handle_lost_exception
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def allow(self) -> None:
        """From now on raise Interrupted on a signal, at once if one has already come."""
        self._allowed = True
        self.poll()

    def hold(self) -> None:
        """From now on hold signals back again; `allow` raises the first one, also one that was raised before."""
        self._allowed = False

    def poll(self) -> None:
        """Raise Interrupted if a signal has come: for code that calls into C++, which must not be interrupted."""
        if self._number:
            raise CheckInterrupted(self._number)

    def _handle_lost_exception(self, lost: Any) -> None:
        if isinstance(lost.exc_value, CheckInterrupted):
            handle_after_return(self._take, lost.exc_value.number)
        else:
            self._hook(lost)

    def _take(self, number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        self._number = self._number or number
        if self._allowed:
            raise CheckInterrupted(number)
