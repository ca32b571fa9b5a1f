"""What the check does right now, on standard error: one line that changes in a terminal, a plain line for each stage elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from types import TracebackType

from gpudoctor.cli import output
from gpudoctor.progress import Event

_WORDS = {
    "inventory": "looking at the machine",
    "smoke training": "",  # its own stages follow at once
    "kernels": "",  # likewise
    "import": "importing it",
    "devices": "listing its devices",
    "kernel": "running a first kernel",
    "training": "training",
    "agreement": "comparing with the CPU",
}
"""What a stage does; a stage that is not here goes by its own name."""
_PAUSE = 0.1
"""Seconds between two numbers shown."""
_SLOW = 0.25
"""Seconds after which a stage is slow enough for a line of its own."""


class Watch:
    """Shows events while it is open. It starts no thread, since children are forked meanwhile; an alarm announces a slow stage."""

    def __init__(self, *, live: bool, lines: bool, slow: float = _SLOW) -> None:
        self._live = live
        self._lines = lines
        self._slow = slow
        self._doing = ""
        self._unsaid = ""
        self._numbered = 0.0

    def __enter__(self) -> Watch:  # noqa: PYI034 -- typing.Self is younger than Python 3.10
        if self._lines and self._slow:
            signal.signal(signal.SIGALRM, self._announce)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._say_soon("")
        self._draw("")

    def __call__(self, event: Event) -> None:
        """Show `event`."""
        if event.kind == "begin":
            doing = _WORDS.get(event.what, event.what)
            self._doing = f"{event.who}: {doing}" if event.who and doing else doing
            self._draw(self._doing)
            self._say_soon(self._doing)
        elif event.kind == "end":
            self._say_soon("")
        elif event.kind == "note" and self._lines:
            output.say(_line(f"{event.who}: {event.what}" if event.who else event.what))
        elif event.kind == "number" and time.monotonic() - self._numbered > _PAUSE:
            self._numbered = time.monotonic()
            self._draw(f"{self._doing}, {event.what} {event.value:.4g}")

    def _say_soon(self, text: str) -> None:
        """A line with `text`, unless something else happens before that is worth it; "" takes an unsaid one back."""
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

    def _draw(self, text: str) -> None:
        if not self._live:
            return
        line = f"{_line(text)} ..."[: _columns() - 1] if text else ""
        try:
            sys.stderr.write(f"\r\x1b[2K{line}")
            sys.stderr.flush()
        except (OSError, ValueError):
            self._live = False


def watch(*, quiet: bool, report_is_text: bool) -> Watch:
    """The watch that suits this terminal; where programs read the report and nobody sits at a terminal, a silent one."""
    if quiet or sys.stderr is None:
        return Watch(live=False, lines=False)
    live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Watch(live=live, lines=not live and (report_is_text or sys.stderr.isatty()))


def _line(text: str) -> str:
    return "gpudoctor: " + "".join(letter if " " <= letter <= "~" else "?" for letter in text)


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
