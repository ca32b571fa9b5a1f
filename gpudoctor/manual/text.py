"""The manual as text: lists of rules, and the pages of the exit codes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from gpudoctor.diagnose.rule import Rule
from gpudoctor.exit_meanings import ExitCode
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.families import family_title
from gpudoctor.report.page import Page, PageLook
from gpudoctor.report.words import SEVERITY_STYLES, capitalised

_CODE_WIDTH, _SEVERITY_WIDTH = 7, 9
_NAME_WIDTH, _WIDE_NAME_WIDTH, _WIDE_COLUMNS = 30, 39, 100
"""Columns of a rule's name, on pages of less than _WIDE columns and on others."""
_MIN_TITLE = 24
"""Columns that a title needs beside the name."""


def rules_by_family(rules: Iterable[Rule], look: PageLook, *, wrap: bool) -> str:
    """Return the rules under the headings of their families; one line each unless `wrap`."""
    page, heading = Page(look), ""
    for rule in rules:
        if family_title(rule) != heading:
            heading = family_title(rule)
            page.heading(heading)
        _draw_rule(page, rule, severity=True, wrap=wrap)
    return page.render()


def meaning_text(answer: ManualAnswer, look: PageLook) -> str:
    """Return in sentences what the searched text means."""
    page = Page(look)
    for sentence in answer.meaning:
        page.paragraph(capitalised(sentence))
    return page.render()


def choices_text(rules: Sequence[Rule], look: PageLook) -> str:
    """Return the pages to choose from, and how to open one."""
    page = Page(look)
    page.heading("Pages, best match first:")
    for rule in rules:
        _draw_rule(page, rule, severity=False, wrap=True)
    page.gap()
    page.paragraph(f"gpudoctor explain {rules[0].code}", "Open one: ")
    page.paragraph("gpudoctor check", "Find out which applies here: ")
    return page.render()


def other_pages_text(rules: Sequence[Rule], look: PageLook) -> str:
    """Return the other pages that quote the same text."""
    page = Page(look)
    page.heading("Other pages with this line:")
    for rule in rules:
        _draw_rule(page, rule, severity=False, wrap=True)
    return page.render()


def _draw_rule(page: Page, rule: Rule, *, severity: bool, wrap: bool) -> None:
    """One rule: code, severity, name and title; a long title goes on in its own column."""
    cells = [(rule.code, _CODE_WIDTH, "bold")]
    if severity:
        cells.append((rule.severity.value, _SEVERITY_WIDTH, SEVERITY_STYLES.get(rule.severity.value, "")))
    width = _WIDE_NAME_WIDTH if page.look.width >= _WIDE_COLUMNS or not wrap else _NAME_WIDTH
    column = sum(taken for _, taken, _ in cells) + width
    if wrap and page.look.width - column < _MIN_TITLE:  # the title goes below the name
        column, width = column - width, 0
    room = page.look.width - column
    lines = textwrap.wrap(page.text(rule.title), room, break_on_hyphens=False, break_long_words=False) if wrap else [rule.title]
    first = lines.pop(0) if len(rule.name) < width - 1 else ""
    page.cells([*cells, (rule.name, width, ""), (first, 0, "")])
    for line in lines:
        page.cells([("", column, ""), (line, 0, "")])


def exit_codes_page(codes: Sequence[ExitCode], width: int) -> str:
    """Return the pages of exit codes in Markdown, wrapped."""
    if len(codes) > 1:
        sections = [_exit_code_section(f"## {code.label}: {code.short}", code, width) for code in codes]
        return "\n\n".join(["# Exit codes", *sections]) + "\n"
    return "".join(_exit_code_section(f"# Exit code {code.label}: {code.short}", code, width) for code in codes) + "\n"


def _exit_code_section(heading: str, code: ExitCode, width: int) -> str:
    return "\n\n".join((heading, textwrap.fill(code.meaning, width), textwrap.fill(f"What to do: {code.action}", width)))
