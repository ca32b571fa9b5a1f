"""Width, colour and redaction for where a result is shown."""

from __future__ import annotations

import os
import sys

from gpudoctor.cli import width
from gpudoctor.probe.identity import owner
from gpudoctor.redact import Redactor
from gpudoctor.report.page import Look


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def look(*, no_color: bool, verbose: bool = False, to_stdout: bool = True) -> Look:
    """Return the width and colour of the terminal, otherwise 80 columns without colour; ASCII if standard output is not UTF-8.

    COLUMNS overrides the width.
    """
    if not to_stdout or sys.stdout is None:
        return Look(width=width.asked() or 80, verbose=verbose)
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    terminal = sys.stdout.isatty()
    columns = width.asked() or (min(max(width.of_terminal(1), 40), width.READABLE) if terminal else 80)
    able = terminal and os.environ.get("TERM", "dumb") != "dumb"
    colour = (able or bool(os.environ.get("FORCE_COLOR"))) and not no_color and not os.environ.get("NO_COLOR")
    return Look(width=columns, colour=colour, plain=plain, verbose=verbose)


def redactor(root: str, *, stays: bool) -> Redactor:
    """Return the redactor for a result: it removes secrets always, and names unless the result `stays` on the user's screen."""
    return Redactor(None if stays else owner(root, os.environ))
