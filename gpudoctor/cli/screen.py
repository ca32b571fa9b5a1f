"""Width, colour and redaction for where a result is shown."""

from __future__ import annotations

import os
import sys

from gpudoctor.cli import width
from gpudoctor.probe.identity import owner_of_machine
from gpudoctor.redact import Redactor
from gpudoctor.report.page import PageLook


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def look_of_output(*, no_color: bool, verbose: bool = False, to_stdout: bool = True) -> PageLook:
    """Return the width and colour of the terminal, otherwise 80 columns without colour; ASCII if standard output is not UTF-8.

    COLUMNS overrides the width.
    """
    if not to_stdout or sys.stdout is None:
        return PageLook(width=width.requested_width() or 80, verbose=verbose)
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    terminal = sys.stdout.isatty()
    columns = width.requested_width() or (min(max(width.terminal_width(1), 40), width.READABLE_COLUMNS) if terminal else 80)
    able = terminal and os.environ.get("TERM", "dumb") != "dumb"
    colour = (able or bool(os.environ.get("FORCE_COLOR"))) and not no_color and not os.environ.get("NO_COLOR")
    return PageLook(width=columns, colour=colour, plain=plain, verbose=verbose)


def redactor_for_output(root: str, *, stays: bool) -> Redactor:
    """Return the redactor for a result: it removes secrets always, and names unless the result `stays` on the user's screen."""
    return Redactor(None if stays else owner_of_machine(root, os.environ))
