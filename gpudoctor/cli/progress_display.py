"""Shows progress on standard error: a line that updates in a terminal, otherwise a plain line for each stage."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from types import TracebackType

from gpudoctor.cli import output
from gpudoctor.cli.width import terminal_width
from gpudoctor.progress import Event
from gpudoctor.report.sparkline import sparkline
from gpudoctor.snapshot import Real

_STAGE_WORDS = {
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
_PAUSE_SECONDS = 0.1
"""Seconds between two updates of a number."""
_TICK_SECONDS = 1.0
"""Seconds between two updates of a stage's clock."""
_CURVE_WIDTH, _BAR_WIDTH = 16, 8
"""Widths of the curve and of the bar, in characters."""
_SLOW_SECONDS = 0.25
"""Seconds after which a slow stage gets its own line."""


class ProgressDisplay:
    """Shows events while it is open. It starts no thread, because children are forked at the same time.

    An alarm announces a slow stage or, in a terminal, updates its clock.
    """

    def __init__(self, *, live: bool, lines: bool, slow: float = _SLOW_SECONDS) -> None:
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
            signal.signal(signal.SIGALRM, self._announce if self._lines else self._redraw)
        if self._slow and self._live:
            signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._say_soon("")
        if self._slow and self._live:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self._doing = ""
        self._draw_line()

    def __call__(self, event: Event) -> None:
        """Show `event`."""
        if event.kind == "begin":
            doing, who = _stage_text(event), f"{event.who} {event.device}".strip()
            self._doing = f"{who}: {doing}" if who and doing else doing
            self._began, self._figures, self._curve = time.monotonic(), "", []
            self._draw_line()
            self._say_soon(self._doing)
        elif event.kind == "end":
            self._say_soon("")
        elif event.kind == "note" and self._lines:
            output.print_error(_log_line(f"{event.who}: {event.what}" if event.who else event.what))
        elif event.kind == "number" and self._live:
            self._add_number(event)

    def _add_number(self, event: Event) -> None:
        self._curve.append(event.value)
        if time.monotonic() - self._numbered > _PAUSE_SECONDS:
            self._numbered = time.monotonic()
            self._figures = self._progress_text(event)
            self._draw_line()

    def _progress_text(self, event: Event) -> str:
        """Return the number, the progress bar and the curve so far, as wide as the line allows."""
        number = f", {event.what} {event.value:.3g}"
        if not event.steps:
            return number
        steps = f" {event.step:{len(str(event.steps))}}/{event.steps}"
        room = terminal_width(2) - 1 - len(f"{self._doing}{steps}, {event.what} 0.000123, 99 s ")
        done = min(_BAR_WIDTH * event.step // event.steps, _BAR_WIDTH)
        full, rest = "#-" if self._plain else "█░"
        bar = f" {full * done}{rest * (_BAR_WIDTH - done)}" if room > 2 * _BAR_WIDTH else ""
        width = min(room - len(bar), _CURVE_WIDTH)
        return f"{bar}{steps}{number} {sparkline(self._curve, width=width, plain=self._plain) if width > 1 else ''}".rstrip()

    def _say_soon(self, text: str) -> None:
        """Announce `text` once it has lasted long enough; "" cancels a pending announcement."""
        if not self._lines:
            return
        self._unsaid = text
        if self._slow:
            signal.setitimer(signal.ITIMER_REAL, self._slow if text else 0)
        elif text:
            output.print_error(_log_line(text))

    def _announce(self, _number: int, _frame: object) -> None:
        if self._unsaid:
            with suppress(OSError):
                os.write(2, f"{_log_line(self._unsaid)}\n".encode("ascii"))  # sys.stderr may be in use where the alarm interrupts

    def _redraw(self, _number: int, _frame: object) -> None:
        if self._doing:
            self._draw_line()

    def _draw_line(self) -> None:
        """Show the current line; unbuffered, because the alarm may interrupt."""
        if not self._live:
            return
        seconds = int(time.monotonic() - self._began)
        took = f", {seconds} s" if seconds >= _TICK_SECONDS else ""
        more = "" if self._figures else " ..."
        text = (
            _printable_text(f"{self._doing}{self._figures}{took}{more}", plain=self._plain)[: terminal_width(2) - 1] if self._doing else ""
        )
        try:
            os.write(2, f"\r\x1b[2K{text}".encode("ascii" if self._plain else "utf-8", "replace"))
        except OSError:
            self._live = False


def display_for_terminal(*, quiet: bool, report_is_text: bool) -> ProgressDisplay:
    """Return the display for this terminal; a silent one if a program reads the report and there is no terminal."""
    if quiet or sys.stderr is None:
        return ProgressDisplay(live=False, lines=False)
    live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return ProgressDisplay(live=live, lines=not live and (report_is_text or sys.stderr.isatty()))


def _stage_text(event: Event) -> str:
    """Return what a stage does, with the network unless it is the dense one."""
    words = _STAGE_WORDS.get(event.what, event.what)
    return words if event.network in {"", "dense"} else f"{words} ({event.network})"


def _log_line(text: str) -> str:
    """Return `text` as a log line."""
    return f"gpudoctor: {_printable_text(text, plain=True)}"


def _printable_text(text: str, *, plain: bool) -> str:
    """Return `text` without control characters."""
    return "".join(letter if " " <= letter <= "~" or (not plain and letter.isprintable()) else "?" for letter in text)
