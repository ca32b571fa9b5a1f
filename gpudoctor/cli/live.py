"""Shows progress on standard error: a line that updates in a terminal, otherwise a plain line for each stage."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from types import TracebackType

from gpudoctor.cli import output
from gpudoctor.cli.width import of_terminal
from gpudoctor.progress import Event
from gpudoctor.report.sparkline import sparkline
from gpudoctor.snapshot import Real

_WORDS = {
    "inventory": "looking at the machine",
    "smoke training": "",  # its own stages follow at once
    "kernels": "",  # the same
    "import": "importing",
    "devices": "listing devices",
    "kernel": "running a first kernel",
    "training": "training",
    "agreement": "comparing results with the CPU",
    "speed": "comparing speed with the CPU",
    "copies": "measuring copies",
    "memory": "measuring memory",
    "products": "measuring matmul",
    "compiled step": "compiling a step",
    "processes": "starting a process on each device",
    "all-reduce": "running all-reduce",
}
"""What each stage does; a stage that is not listed is shown by its name."""
_PAUSE = 0.1
"""Seconds between two updates of a number."""
_TICK = 1.0
"""Seconds between two updates of a stage's clock."""
_CURVE, _BAR = 16, 8
"""Widths of the curve and of the bar, in characters."""
_SLOW = 0.25
"""Seconds after which a slow stage gets its own line."""


class ProgressDisplay:
    """Shows events while it is open. It starts no thread, because children are forked at the same time.

    An alarm announces a slow stage or, in a terminal, updates its clock.
    """

    def __init__(self, *, live: bool, lines: bool, slow: float = _SLOW) -> None:
        self._live = live
        self._lines = lines
        self._slow = slow
        self._doing = ""
        self._unsaid = ""
        self._numbered = 0.0
        self._began = time.monotonic()
        self._figures = ""
        self._curve: list[Real] = []
        self._plain = sys.stderr is None or sys.stderr.encoding.lower().replace("-", "") != "utf8"

    def __enter__(self) -> ProgressDisplay:  # noqa: PYI034 -- typing.Self is newer than Python 3.10
        if self._slow and (self._lines or self._live):
            signal.signal(signal.SIGALRM, self._announce if self._lines else self._tick)
        if self._slow and self._live:
            signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._say_soon("")
        if self._slow and self._live:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self._doing = ""
        self._draw()

    def __call__(self, event: Event) -> None:
        """Show `event`."""
        if event.kind == "begin":
            doing, who = _words(event), f"{event.who} {event.device}".strip()
            self._doing = f"{who}: {doing}" if who and doing else doing
            self._began, self._figures, self._curve = time.monotonic(), "", []
            self._draw()
            self._say_soon(self._doing)
        elif event.kind == "end":
            self._say_soon("")
        elif event.kind == "note" and self._lines:
            output.say(_line(f"{event.who}: {event.what}" if event.who else event.what))
        elif event.kind == "number" and self._live:
            self._number(event)

    def _number(self, event: Event) -> None:
        self._curve.append(event.value)
        if time.monotonic() - self._numbered > _PAUSE:
            self._numbered = time.monotonic()
            self._figures = self._progress(event)
            self._draw()

    def _progress(self, event: Event) -> str:
        """Return the number, the progress bar and the curve so far, as wide as the line allows."""
        number = f", {event.what} {event.value:.3g}"
        if not event.steps:
            return number
        steps = f" {event.step:{len(str(event.steps))}}/{event.steps}"
        room = of_terminal(2) - 1 - len(f"{self._doing}{steps}, {event.what} 0.000123, 99 s ")
        done = min(_BAR * event.step // event.steps, _BAR)
        full, rest = "#-" if self._plain else "█░"
        bar = f" {full * done}{rest * (_BAR - done)}" if room > 2 * _BAR else ""
        width = min(room - len(bar), _CURVE)
        return f"{bar}{steps}{number} {sparkline(self._curve, width=width, plain=self._plain) if width > 1 else ''}".rstrip()

    def _say_soon(self, text: str) -> None:
        """Announce `text` once it has lasted long enough; "" cancels a pending announcement."""
        if not self._lines:
            return
        self._unsaid = text
        if self._slow:
            signal.setitimer(signal.ITIMER_REAL, self._slow if text else 0)
        elif text:
            output.say(_line(text))

    def _announce(self, _number: int, _frame: object) -> None:
        if self._unsaid:
            with suppress(OSError):
                os.write(2, f"{_line(self._unsaid)}\n".encode("ascii"))  # sys.stderr may be in use where the alarm interrupts

    def _tick(self, _number: int, _frame: object) -> None:
        if self._doing:
            self._draw()

    def _draw(self) -> None:
        """Show the current line; unbuffered, because the alarm may interrupt."""
        if not self._live:
            return
        seconds = int(time.monotonic() - self._began)
        took = f", {seconds} s" if seconds >= _TICK else ""
        more = "" if self._figures else " ..."
        text = _shown(f"{self._doing}{self._figures}{took}{more}", plain=self._plain)[: of_terminal(2) - 1] if self._doing else ""
        try:
            os.write(2, f"\r\x1b[2K{text}".encode("ascii" if self._plain else "utf-8", "replace"))
        except OSError:
            self._live = False


def display(*, quiet: bool, report_is_text: bool) -> ProgressDisplay:
    """Return the display for this terminal; a silent one if a program reads the report and there is no terminal."""
    if quiet or sys.stderr is None:
        return ProgressDisplay(live=False, lines=False)
    live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return ProgressDisplay(live=live, lines=not live and (report_is_text or sys.stderr.isatty()))


def _words(event: Event) -> str:
    """Return what a stage does, with the network unless it is the dense one."""
    words = _WORDS.get(event.what, event.what)
    return words if event.network in {"", "dense"} else f"{words} ({event.network})"


def _line(text: str) -> str:
    """Return `text` as a log line."""
    return f"gpudoctor: {_shown(text, plain=True)}"


def _shown(text: str, *, plain: bool) -> str:
    """Return `text` without control characters."""
    return "".join(letter if " " <= letter <= "~" or (not plain and letter.isprintable()) else "?" for letter in text)
