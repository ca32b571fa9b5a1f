"""The ticket as one page of HTML: no scripts, and nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from markupsafe import Markup

from gpudoctor.redact.pseudonyms import Kind
from gpudoctor.report import markup
from gpudoctor.report.model import Report
from gpudoctor.report.ticket import embed
from gpudoctor.report.ticket.curves import HEIGHT, WIDTH
from gpudoctor.report.ticket.numbers import numbers
from gpudoctor.report.ticket.templates import environment, footer
from gpudoctor.report.ticket.view import view
from gpudoctor.report.words import printable

_NO_WORD = re.compile("[^a-z]+")


def render(report: Report, removed: Mapping[Kind, int]) -> str:
    """Return the page about `report`, from which `removed` values of each kind were removed."""
    shown = view(report, removed)
    return str(
        _template().render(
            view=shown,
            training=numbers(report),
            width=WIDTH,
            height=HEIGHT,
            embedded=Markup(embed.plain(report)),  # noqa: S704 -- without any markup: it stays JSON in the source of the page
            footer=footer(shown),
        )
    )


@cache
def _template() -> Any:
    """Return the template, whose values jinja2 escapes as HTML."""
    made = environment(_shown, lines=_lines, word=_class, address=lambda url: url if markup.is_address(url) else "")
    return made.get_template("ticket.html.jinja")


def _class(told: str) -> str:
    """Return a word as the name of a class."""
    return _NO_WORD.sub("-", told)


def _shown(told: object) -> object:
    """Return what jinja2 then escapes: text without control characters and reversed directions."""
    return told if isinstance(told, Markup) else printable(str(told), plain=False)


def _lines(told: str) -> Markup:
    """Return several lines, each escaped."""
    return Markup("\n").join(printable(line, plain=False) for line in told.split("\n"))
