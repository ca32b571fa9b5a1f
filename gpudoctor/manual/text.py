"""The manual as text: lists of rules, and the pages of the exit codes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from gpudoctor.diagnose.rule import Rule
from gpudoctor.exit_meanings import ExitCode
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.families import title_of
from gpudoctor.report.page import Look, Page
from gpudoctor.report.words import SEVERITIES, upper_first

_CODE, _SEVERITY = 7, 9
_NAME, _NAME_WIDE, _WIDE = 30, 39, 100
"""Columns of a rule's name, on pages of less than _WIDE columns and on others."""
_LEAST = 24
"""Columns that a title needs beside the name."""


def rules_by_family(rules: Iterable[Rule], look: Look, *, wrap: bool) -> str:
    """Return the rules under the headings of their families; one line each unless `wrap`."""
    page, heading = Page(look), ""
    for rule in rules:
        if title_of(rule) != heading:
            heading = title_of(rule)
            page.heading(heading)
        _row(page, rule, severity=True, wrap=wrap)
    return page.render()


def meaning(answer: ManualAnswer, look: Look) -> str:
    """Return in sentences what the searched text means."""
    page = Page(look)
    for sentence in answer.meaning:
        page.paragraph(upper_first(sentence))
    return page.render()


def choices(rules: Sequence[Rule], look: Look) -> str:
    """Return the pages to choose from, and how to open one."""
    page = Page(look)
    page.heading("Pages, best match first:")
    for rule in rules:
        _row(page, rule, severity=False, wrap=True)
    page.gap()
    page.paragraph(f"gpudoctor explain {rules[0].code}", "Open one: ")
    page.paragraph("gpudoctor check", "Find out which applies here: ")
    return page.render()


def see_also(rules: Sequence[Rule], look: Look) -> str:
    """Return the other pages that quote the same text."""
    page = Page(look)
    page.heading("Other pages with this line:")
    for rule in rules:
        _row(page, rule, severity=False, wrap=True)
    return page.render()


def _row(page: Page, rule: Rule, *, severity: bool, wrap: bool) -> None:
    """One rule: code, severity, name and title; a long title goes on in its own column."""
    cells = [(rule.code, _CODE, "bold")]
    if severity:
        cells.append((rule.severity.value, _SEVERITY, SEVERITIES.get(rule.severity.value, "")))
    width = _NAME_WIDE if page.look.width >= _WIDE or not wrap else _NAME
    column = sum(taken for _, taken, _ in cells) + width
    if wrap and page.look.width - column < _LEAST:  # the title goes below the name
        column, width = column - width, 0
    room = page.look.width - column
    lines = textwrap.wrap(page.text(rule.title), room, break_on_hyphens=False, break_long_words=False) if wrap else [rule.title]
    first = lines.pop(0) if len(rule.name) < width - 1 else ""
    page.cells([*cells, (rule.name, width, ""), (first, 0, "")])
    for line in lines:
        page.cells([("", column, ""), (line, 0, "")])


def exit_codes(codes: Sequence[ExitCode], width: int) -> str:
    """Return the pages of exit codes in Markdown, wrapped."""
    if len(codes) > 1:
        sections = [_section(f"## {code.label}: {code.short}", code, width) for code in codes]
        return "\n\n".join(["# Exit codes", *sections]) + "\n"
    return "".join(_section(f"# Exit code {code.label}: {code.short}", code, width) for code in codes) + "\n"


def _section(heading: str, code: ExitCode, width: int) -> str:
    return "\n\n".join((heading, textwrap.fill(code.meaning, width), textwrap.fill(f"What to do: {code.action}", width)))
