"""The ticket as Markdown for a tracker: never longer than one takes, and inert whatever the machine's names hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from markupsafe import Markup

from gpudoctor.redact.pseudonyms import RemovedKind
from gpudoctor.report import markup
from gpudoctor.report.model import Report
from gpudoctor.report.templates import template_environment
from gpudoctor.report.ticket import embed
from gpudoctor.report.ticket.numbers import training_lines
from gpudoctor.report.ticket.view import footer_parts, ticket_view
from gpudoctor.report.words import printable_text

MAX_LETTERS = 60_000
"""Bytes. GitHub takes 65,536 in the body of an issue (https://github.com/PyGithub/PyGithub/issues/1906 quotes its answer)."""


_EMPTY_LINES = re.compile(r"\n{3,}")


class _TicketSize(NamedTuple):
    """How much a ticket shows."""

    letters: int
    """Of one text."""
    rows: int
    """Of one list."""
    facts: bool
    embedded: str
    """plain, packed or nothing."""


_TICKET_SIZES = (
    _TicketSize(2000, 1000, facts=True, embedded="plain"),
    _TicketSize(2000, 1000, facts=True, embedded="packed"),
    _TicketSize(2000, 1000, facts=False, embedded="packed"),
    _TicketSize(300, 30, facts=False, embedded="packed"),
    _TicketSize(100, 6, facts=False, embedded="packed"),
    _TicketSize(100, 6, facts=False, embedded=""),
)
"""The first that is short enough is used."""


def render(report: Report, removed: Mapping[RemovedKind, int]) -> str:
    """Return the ticket about `report`, from which `removed` values of each kind were removed."""
    shown, lines, forms = ticket_view(report, removed), training_lines(report), {"plain": embed.plain_json, "packed": embed.packed_report}

    @cache
    def embedded(form: str) -> str:
        return forms[form](report) if form else ""

    written = ""
    for size in _TICKET_SIZES:
        if len(embedded(size.embedded)) > MAX_LETTERS:
            continue
        template = _ticket_template(size.letters)
        rendered = template.render(
            view=shown,
            most=size.rows,
            with_facts=size.facts,
            training=lines[: size.rows],
            embedded=embedded(size.embedded),
            footer=footer_parts(shown),
        )
        written = _EMPTY_LINES.sub("\n\n", rendered).strip() + "\n"
        if len(written.encode("utf-8", "backslashreplace")) <= MAX_LETTERS:
            break
    return written


@cache
def _ticket_template(letters: int) -> Any:
    """Return the template, in which every value is escaped unless a filter of ours returned it."""

    def short(told: object) -> str:
        text = printable_text(str(told), plain=False)
        return text if len(text) <= letters else f"{text[:letters]}…"

    def escaped(told: object) -> Markup:
        return told if isinstance(told, Markup) else Markup(markup.markup_text(short(told)))  # noqa: S704 -- escaped as Markdown, not as HTML

    def code(told: object) -> Markup:
        return Markup(markup.code_span(short(told)))  # noqa: S704

    def cell_code(told: object) -> Markup:
        return Markup(markup.code_span(short(told), in_table=True))  # noqa: S704

    def block(lines: Iterable[str], language: str = "sh", *, whole: bool = False) -> Markup:
        every = [line for one in lines for line in one.split("\n")]
        shown = every if whole or language == "text" else [line if len(line) <= _MAX_COMMAND else _TOO_LONG_NOTE for line in every]
        return Markup("\n".join(markup.code_block(shown, language)))  # noqa: S704

    return template_environment(
        escaped,
        cell=escaped,
        cell_code=cell_code,
        code=code,
        block=block,
        row=lambda cells: Markup(f"| {' | '.join(map(str, cells))} |"),  # noqa: S704 -- cells are Markdown already
        listing=_fact_lines,
        address=lambda url: Markup(url if markup.is_address(url) else ""),  # noqa: S704
        trusted=Markup,
    ).get_template("ticket.md.jinja")


_MAX_COMMAND = 2000
"""Letters of a command; nobody wrote a longer one."""
_TOO_LONG_NOTE = "# this command is too long to show; it is in the JSON report"


def _fact_lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{name} = {printable_text(value, plain=False)}" if name else value for name, value in facts]
