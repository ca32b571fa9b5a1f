"""Text as GitHub-flavoured Markdown (https://github.github.com/gfm/): nothing in it is taken for markup, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudoctor.report.words import printable

_MARKUP = re.compile(
    r"(?P<calling>@(?=\w)|(?<!\w)#(?=\d))|(?<=:)/(?=/)|(?<=\bwww)\.|[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|^(?:[#+-]|\d{1,9}(?=[.)](?:\s|$)))"
)
"""`calling` are the signs by which GitHub links people and issues, in escaped text too:
https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls"""
_APART = "\u200b"
"""Separates without width; `gpudoctor diagnose` removes it."""
_ADDRESS = re.compile(r"https://[\w./#-]+", re.ASCII)
_TICKS = re.compile("`+")


def text(told: str) -> str:
    """Return `told` as one line of plain text."""
    return _MARKUP.sub(_escaped, printable(told, plain=False).strip())


def _escaped(match: re.Match[str]) -> str:
    sign = match.group()
    if match["calling"]:
        return sign + _APART
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def code(told: str, *, in_table: bool = False) -> str:
    """Return `told` as code within a line; empty where it is empty."""
    shown = printable(told, plain=False).strip()
    if not shown:
        return ""
    ticks = "`" * (_longest_run(shown) + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    span = f"{ticks}{padding}{shown}{padding}{ticks}"
    return span.replace("|", "\\|") if in_table else span


def block(commands: Iterable[str], language: str = "sh") -> list[str]:
    """Return the lines of commands to copy, or of other text in which nothing is markup."""
    shown = [printable(line, plain=False) for command in commands for line in command.split("\n")]
    fence = "`" * max([3, *(_longest_run(line) + 1 for line in shown)])
    return [f"{fence}{language}", *shown, fence]


def is_address(url: str) -> bool:
    """Return whether `url` can be the target of a link as it is."""
    return _ADDRESS.fullmatch(url) is not None


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown."""
    return [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _longest_run(shown: str) -> int:
    return max(map(len, _TICKS.findall(shown)), default=0)
