"""The templates of pages and tickets, and the only place that knows jinja2."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpudoctor.report import markup
from gpudoctor.report.words import printable_text

_NON_WORD = re.compile("[^a-z]+")
_BACKTICK_CODE = re.compile("`([^`]+)`")


def template_environment(finalize: Callable[[object], Any], **filters: Callable[..., Any]) -> Environment:
    """Return an environment in which `finalize` treats every value, and what it leaves as plain text is escaped as HTML."""
    made = Environment(
        autoescape=True,
        finalize=finalize,
        loader=PackageLoader("gpudoctor.report", "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(filters)
    return made


@functools.cache
def page_template(name: str) -> Any:
    """Return the template of a page of HTML."""
    return template_environment(
        _printable_value, lines=_lines_markup, prose=_prose_markup, word=_class_name, address=_address_or_nothing
    ).get_template(name)


def _class_name(told: str) -> str:
    """Return a word as the name of a class."""
    return _NON_WORD.sub("-", told)


def _address_or_nothing(url: str) -> str:
    """Return a web address; empty if it is none."""
    return url if markup.is_address(url) else ""


def _printable_value(told: object) -> object:
    """Return what jinja2 then escapes: text without control characters and reversed directions."""
    return told if isinstance(told, Markup) else printable_text(str(told), plain=False)


def _prose_markup(told: str) -> Markup:
    """Return a sentence, escaped, with what stands in backticks as code."""
    parts = enumerate(_BACKTICK_CODE.split(printable_text(told, plain=False)))
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in parts)


def _lines_markup(told: str) -> Markup:
    """Return several lines, each escaped."""
    return Markup("\n").join(printable_text(line, plain=False) for line in told.split("\n"))
