"""Writes the result of a command, other than a report, as text or JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look, on_terminal, redactor
from gpudoctor.report import document
from gpudoctor.report.page import Look

Result = TypeVar("Result", bound=msgspec.Struct)


def show(
    result: Result,
    form: TextOrJson,
    draw: Callable[[Result, Look], str],
    encode: Callable[[Result], bytes] = document.encode,
    *,
    root: str = "/",
    no_color: bool = False,
) -> None:
    """Write a result to standard output; without names of people and machines unless it is a text on the user's own terminal."""
    as_text = form is TextOrJson.TEXT
    clean, shown = redactor(root, stays=as_text and on_terminal()).struct(result), look(no_color=no_color)
    output.write(shown.encoded(draw(clean, shown)) if as_text else encode(clean))
