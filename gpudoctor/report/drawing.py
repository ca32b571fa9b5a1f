"""Draws for a terminal with rich, which takes 20 ms to import."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

_COMMAND_COLOUR = "cyan"
_COLOUR_THEME = Theme(
    {
        "markdown.code": _COMMAND_COLOUR,
        "markdown.code_block": _COMMAND_COLOUR,
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)
"""Colours for dark and light terminals: no background of our own."""


class _LeftHeading(Heading):
    """A heading at the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.stylize("bold")
        yield self.text


class _CommandBlock(CodeBlock):
    """A block of commands to paste: indented, never wrapped or cropped."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style = console.get_style(_COMMAND_COLOUR)
        for line in str(self.text).rstrip().splitlines():
            yield Segment(f"  {line}", style)
            yield Segment.line()


class _MarkdownPage(Markdown):
    elements = {**Markdown.elements, "heading_open": _LeftHeading, "fence": _CommandBlock, "code_block": _CommandBlock}  # noqa: RUF012 -- as its parent has it


def coloured_text(lines: Iterable[Iterable[tuple[str, str]]], width: int) -> str:
    """Return lines of styled pieces with colour codes."""
    out = io.StringIO()
    console = _console(out, width)
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True, highlight=False, markup=False, emoji=False)
    return out.getvalue()


def drawn_markdown(text: str, width: int, *, colour: bool = True) -> str:
    """Return Markdown laid out for a terminal: wrapped, with tables in columns; without `colour` also without bold and italics."""
    out = io.StringIO()
    _console(out, width, colour=colour).print(_MarkdownPage(text), crop=False)
    return out.getvalue()


def _console(out: io.StringIO, width: int, *, colour: bool = True) -> Console:
    system: Literal["standard"] | None = "standard" if colour else None
    return Console(file=out, width=width, force_terminal=True, color_system=system, legacy_windows=False, theme=_COLOUR_THEME, _environ={})
