"""The templates of pages and tickets, and the only place that knows jinja2."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpudoctor.report import markup
from gpudoctor.report.words import printable

_NO_WORD = re.compile("[^a-z]+")
_CODE = re.compile("`([^`]+)`")


def environment(finalize: Callable[[object], Any], **filters: Callable[..., Any]) -> Environment:
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
def page(name: str) -> Any:
    """Return the template of a page of HTML."""
    return environment(_shown, lines=_lines, prose=_prose, word=_class, address=_address).get_template(name)


def _class(told: str) -> str:
    """Return a word as the name of a class."""
    return _NO_WORD.sub("-", told)


def _address(url: str) -> str:
    """Return a web address; empty if it is none."""
    return url if markup.is_address(url) else ""


def _shown(told: object) -> object:
    """Return what jinja2 then escapes: text without control characters and reversed directions."""
    return told if isinstance(told, Markup) else printable(str(told), plain=False)


def _prose(told: str) -> Markup:
    """Return a sentence, escaped, with what stands in backticks as code."""
    parts = enumerate(_CODE.split(printable(told, plain=False)))
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in parts)


def _lines(told: str) -> Markup:
    """Return several lines, each escaped."""
    return Markup("\n").join(printable(line, plain=False) for line in told.split("\n"))
