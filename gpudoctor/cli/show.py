"""Writes the result of a command, other than a report, as text or JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.screen import is_terminal, look_of_output, redactor_for_output
from gpudoctor.report import document
from gpudoctor.report.page import PageLook

ShownResult = TypeVar("ShownResult", bound=msgspec.Struct)


def show_result(
    result: ShownResult,
    form: TextOrJson,
    draw: Callable[[ShownResult, PageLook], str],
    encode: Callable[[ShownResult], bytes] = document.encode_document,
    *,
    root: str = "/",
    no_color: bool = False,
) -> None:
    """Write a result to standard output; without names of people and machines unless it is a text on the user's own terminal."""
    as_text = form is TextOrJson.TEXT
    clean, shown = redactor_for_output(root, stays=as_text and is_terminal()).struct(result), look_of_output(no_color=no_color)
    output.write_output(shown.encoded_text(draw(clean, shown)) if as_text else encode(clean))
