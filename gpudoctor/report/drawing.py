"""Draws for a terminal with rich, which takes 20 ms to import."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text


class _Left(Heading):
    """A heading at the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.stylize("bold")
        yield self.text


class _Page(Markdown):
    elements = {**Markdown.elements, "heading_open": _Left}  # noqa: RUF012 -- as its parent has it


def coloured(lines: Iterable[Iterable[tuple[str, str]]], width: int) -> str:
    """Return lines of styled pieces with colour codes."""
    out = io.StringIO()
    console = _console(out, width)
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True, highlight=False, markup=False, emoji=False)
    return out.getvalue()


def markdown(text: str, width: int) -> str:
    """Return Markdown as a terminal shows it."""
    out = io.StringIO()
    _console(out, width).print(_Page(text))
    return out.getvalue()


def _console(out: io.StringIO, width: int) -> Console:
    return Console(file=out, width=width, force_terminal=True, color_system="standard", legacy_windows=False, _environ={})
