"""Text from the machine stays text in every report, whichever field holds it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from gpudoctor.cli.delivery import deliver_reports
from gpudoctor.cli.destinations import Destination
from gpudoctor.cli.formats import Format
from gpudoctor.cli.settings import Delivery
from gpudoctor.report.build import build_report
from gpudoctor.report.ticket import markdown, page
from tests.redact.planted import examination

STEERING = "a\x1b]0;title\x07\x1b[2J\x9b31m\x00\x08\r\x7f\u202egnp\u2066\u2028\u200fz"
MARKUP = "a<script>alert(1)</script><img src=x onerror=alert(2)></pre>]]>&lt;[b](javascript:alert(3))![c](https://d.example/e)\n# f\n```\n::error::g\n"
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = re.compile(r"</?details>\s*|<summary>[^<>]*</summary>\s*|<!-- gpudoctor[^<>]*-->\s*")
"""The HTML that our Markdown contains."""

Write = Callable[[str, Format, bool], str]
formats = pytest.mark.parametrize("form", Format)
both = pytest.mark.parametrize("gaps", [False, True], ids=["values", "gaps"])


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str, form: Format, gaps: bool) -> str:
        file = tmp_path / "report"
        made = Delivery(destinations=(Destination(form, str(file)),), quiet=True, no_color=True, identify=True, root="/")
        deliver_reports(examination(text, gaps=gaps), "check", made)
        return file.read_text(encoding="utf-8")

    return written


def steering(text: str) -> set[str]:
    """Return the characters of a text that control terminals, change its direction or cannot be seen."""
    return {letter for letter in text if not letter.isprintable()} - {"\n", "\t", "\u200b"}  # the last one is ours, in Markdown


def strings(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


@both
@formats
def test_no_field_carries_a_control_character(write: Write, form: Format, gaps: bool) -> None:
    assert steering(write(STEERING, form, gaps)) == set()


@both
def test_what_a_sarif_viewer_decodes_carries_none_either(write: Write, gaps: bool) -> None:
    decoded = json.loads(write(STEERING, Format.SARIF, gaps))
    assert {letter for text in strings(decoded["runs"]) for letter in steering(text)} == set()


@both
@pytest.mark.parametrize("form", [Format.JUNIT, Format.MARKDOWN, Format.SARIF, Format.GITHUB], ids=str)
def test_no_field_becomes_markup(write: Write, form: Format, gaps: bool) -> None:
    text = write(MARKUP, form, gaps)
    if form is Format.JUNIT:
        assert {element.tag for element in ET.fromstring(text).iter()} <= {
            *("testsuites", "testsuite", "testcase", "properties", "property", "failure", "skipped", "error", "system-out")
        }
    elif form is Format.MARKDOWN:
        assert foreign(text) == []
    elif form is Format.SARIF:
        assert [one for one in marked_down(json.loads(text)) if foreign(one)] == []
    else:
        assert [
            line for line in text.splitlines() if line.startswith("::") and not line.startswith(("::error title=", "::warning", "::notice"))
        ] == []


def foreign(text: str) -> list[str]:
    """Return what a reader of Markdown takes for HTML, images or links that are not ours."""
    tokens = [inner for token in READER.parse(text) for inner in (token, *(token.children or ()))]
    html = [token.content for token in tokens if token.type.startswith("html") and OURS.sub("", token.content).strip()]
    links = [str(token.attrs.get("href", token.attrs.get("src"))) for token in tokens if token.type in {"link_open", "image"}]
    return html + [link for link in links if not link.startswith(("https://github.com/gpudoctor/", "https://docs.", "#"))]


def marked_down(value: Any) -> Iterator[str]:
    """Yield the texts that a SARIF document declares to be Markdown."""
    if isinstance(value, dict):
        yield from (text for name, text in value.items() if name == "markdown" and isinstance(text, str))
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from marked_down(one)


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name) for name, _ in attrs] or [(tag, "")]


@both
def test_a_ticket_carries_neither_controls_nor_markup(gaps: bool) -> None:
    for text in (STEERING, MARKUP):
        report, harmless = build_report(examination(text, gaps=gaps), "ticket"), build_report(examination("words", gaps=gaps), "ticket")
        for written in (markdown.render(report, {}), page.render(report, {})):
            assert steering(written) == set()
        assert foreign(markdown.render(report, {})) == []
        assert set(Elements(page.render(report, {})).found) <= set(Elements(page.render(harmless, {})).found)
