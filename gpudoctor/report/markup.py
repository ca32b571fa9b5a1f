"""Text as GitHub-flavoured Markdown (https://github.github.com/gfm/): nothing in it is taken for markup, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudoctor.report.words import printable_text

_MARKUP_SIGNS = re.compile(
    r"(?P<calling>@(?=\w)|(?<!\w)#(?=\d))|(?<=:)/(?=/)|(?<=\bwww)\.|[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|^(?:[#+-]|\d{1,9}(?=[.)](?:\s|$)))"
)
"""`calling` are the signs by which GitHub links people and issues, in escaped text too:
https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls"""
_ZERO_WIDTH_SPACE = "\u200b"
"""Separates without width; `gpudoctor diagnose` removes it."""
_ADDRESS_FORM = re.compile(r"https://[\w./#-]+", re.ASCII)
_BACKTICK_RUN = re.compile("`+")


def markup_text(told: str) -> str:
    """Return `told` as one line of plain text."""
    return _MARKUP_SIGNS.sub(_escaped_sign, printable_text(told, plain=False).strip())


def _escaped_sign(match: re.Match[str]) -> str:
    sign = match.group()
    if match["calling"]:
        return sign + _ZERO_WIDTH_SPACE
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def code_span(told: str, *, in_table: bool = False) -> str:
    """Return `told` as code within a line; empty where it is empty."""
    shown = printable_text(told, plain=False).strip()
    if not shown:
        return ""
    ticks = "`" * (_longest_backtick_run(shown) + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    span = f"{ticks}{padding}{shown}{padding}{ticks}"
    return span.replace("|", "\\|") if in_table else span


def code_block(commands: Iterable[str], language: str = "sh") -> list[str]:
    """Return the lines of commands to copy, or of other text in which nothing is markup."""
    shown = [printable_text(line, plain=False) for command in commands for line in command.split("\n")]
    fence = "`" * max([3, *(_longest_backtick_run(line) + 1 for line in shown)])
    return [f"{fence}{language}", *shown, fence]


def is_address(url: str) -> bool:
    """Return whether `url` can be the target of a link as it is."""
    return _ADDRESS_FORM.fullmatch(url) is not None


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown."""
    return [_table_row(heads), _table_row(["---"] * len(heads)), *map(_table_row, rows)]


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _longest_backtick_run(shown: str) -> int:
    return max(map(len, _BACKTICK_RUN.findall(shown)), default=0)
