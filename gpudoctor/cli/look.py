"""What a result is shown on, and what is taken out of it for that."""

from __future__ import annotations

import os
import shutil
import sys

from gpudoctor.probe.identity import owner
from gpudoctor.redact import Redactor
from gpudoctor.report import document
from gpudoctor.report.page import Look


def on_terminal() -> bool:
    """Whether standard output is the user's own screen."""
    return sys.stdout is not None and sys.stdout.isatty()


def look(*, no_color: bool, to_stdout: bool = True) -> Look:
    """Return what text is shown on: a terminal's width and colour, or 80 columns without; ASCII where standard output is not UTF-8."""
    if not to_stdout or sys.stdout is None:
        return Look()
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    terminal = sys.stdout.isatty()
    width = min(max(shutil.get_terminal_size().columns, 40), 100) if terminal else 80
    able = terminal and os.environ.get("TERM", "dumb") != "dumb"
    colour = (able or bool(os.environ.get("FORCE_COLOR"))) and not no_color and not os.environ.get("NO_COLOR")
    return Look(width=width, colour=colour, plain=plain)


def redactor(root: str, *, stays: bool) -> Redactor:
    """Return what takes out of a result what must not leave: secrets always, names unless it `stays` on the user's own screen."""
    return Redactor(None if stays else owner(root, os.environ))


def error(kind: str, sentence: str, exit_code: int) -> bytes:
    """Return the document that says what went wrong."""
    return document.error(kind, redactor("/", stays=False).text(sentence), exit_code)
