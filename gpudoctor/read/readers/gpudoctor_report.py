"""Reads gpudoctor's own report as the terminal and Markdown show it. Its lines are no log: no other reader sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from gpudoctor.expressions import expression
from gpudoctor.read.readers.gpudoctor_summary import SUMMARY_LINE, summary_statements
from gpudoctor.read.statements import Directness, Line, Statement

REPORT_READER = "gpudoctor report"
VERDICT_KEY, CAUSE_KEY = "reported verdict", "reported:"
"""Keys of the verdict, and of a root cause with its code; a cause's value is its severity, confidence and message, between tabs."""

_MAX_REPORT_LINES = 2000
"""Lines of a report."""
_VERDICTS = ("READY", "DEGRADED", "UNKNOWN", "BROKEN", "STOPPED")
_VERDICT_FORM = expression("|".join(_VERDICTS))
_ASIDE_FORM = r"(?: \((?P<aside>[^()]{0,80})\))?"
_HEADLINE = expression(
    rf"^\s{{0,8}}(?:#{{1,6}} )?(?:[^\w\s]|OK|X)? ?(?P<verdict>{'|'.join(_VERDICTS)})(?: (?P<code>GD\d{{3}}))?{_ASIDE_FORM}(?::|\s|$)(?P<message>.{{0,2000}})"
)
_CAUSE_LINE = expression(
    rf"^\s{{0,8}}(?:\*\*)?(?P<severity>[Ee]rror|[Ww]arning|[Nn]ote)(?: (?P<code>GD\d{{3}}))?{_ASIDE_FORM}:(?:\*\*)?(?: |$)(?P<message>.{{0,2000}})"
)
_LINKED_CAUSE = expression(r"^\s{0,8}#{1,6} \[(?P<code>GD\d{3})[^\]]{0,80}\]\(\S{1,300}\)(?P<aside>.{0,300})")
_NOTE_LINE = expression(
    r"^\s{0,8}- \[(?P<code>GD\d{3})[^\]]{0,80}\]\(\S{1,300}\)(?P<aside>(?: \([^()]{0,80}\))?): (?P<message>.{0,2000})(?<!\))$"
)
"""What is explained by a cause ends with a parenthesis that says so."""
_TITLE_LINE = expression(r"^\s{0,3}(?P<code>GD\d{3}) (?P<aside>[^:]{1,300})$")
"""A heading as a browser shows it."""
_PART_HEADING = expression(
    r"^\s{0,8}(?:\*\*)?(?:Fix|Then|Check|Or instead|If that fails|Verify|Evidence|Also explains|Stages per GPU|Not checked|Verified|Examined|Tool|More)\b"
)
_REPORT_END = expression(r"^\s{0,8}(?:More: |Tool: gpudoctor )|\bgpudoctor \d[\w.]{0,20}, (?:compatibility )?tables of \d{4}-")
_DOUBT_WORDS = expression(r"\b(?:likely|possible)\b")


def report_lines(lines: Sequence[Line]) -> list[Sequence[Line]]:
    """Return the lines of each report among `lines`; a headline without a code is one only if the report's end follows."""
    heads = [(place, head) for place, line in enumerate(lines) if _VERDICT_FORM.search(line.text) and (head := _HEADLINE.match(line.text))]
    found = []
    for (place, head), after in zip(heads, [*(place for place, _ in heads[1:]), len(lines)], strict=False):
        within = lines[place : min(after, place + _MAX_REPORT_LINES)]
        ended = _last_place(within, _REPORT_END)
        if head["code"] or ended:
            found.append(within[: (ended or _last_place(within, _PART_HEADING)) + 1])
    return found


def report_statements(report: Sequence[Line]) -> Iterator[Statement]:
    """Yield the verdict of a report, what its summary states, its root causes and its notes."""
    first, head = report[0], _HEADLINE.match(report[0].text)
    assert head is not None  # noqa: S101 -- as `report_lines` has seen
    yield Statement(VERDICT_KEY, head["verdict"], REPORT_READER, first.number, Directness.TOOL)
    yield from summary_statements(_summary_line(report), REPORT_READER, first.number)
    usual = "error" if head["verdict"] == "BROKEN" else "warning"
    code = head["code"]
    if code:
        yield _cause_statement(code, usual, head["aside"], _unwrapped_message(head["message"], report[1:]), first)
    for place, (line, after) in enumerate(pairwise([*report, Line(0, "")])):
        cause, linked, title = _CAUSE_LINE.match(line.text), _LINKED_CAUSE.match(line.text), _TITLE_LINE.match(line.text)
        told = _CAUSE_LINE.match(after.text)
        heading = linked or (title if told or (not code and usual == "error") or (head["verdict"] == "DEGRADED" and not code) else None)
        if cause and cause["code"]:
            yield _cause_statement(
                cause["code"], cause["severity"].lower(), cause["aside"], _unwrapped_message(cause["message"], report[place + 1 :]), line
            )
        elif note := _NOTE_LINE.match(line.text):
            yield _cause_statement(note["code"], "note", note["aside"], note["message"], line)
        elif heading and place:
            code = heading["code"]
            severity, message = (told["severity"].lower(), told["message"]) if told and not told["code"] else (usual, head["message"])
            yield _cause_statement(code, severity, heading["aside"], message, line)


def _summary_line(report: Sequence[Line]) -> str:
    """Return the line that sums the machine up, joined again if it was wrapped; "" without one."""
    head = list(
        takewhile(
            lambda line: not any(form.search(line.text) for form in (_PART_HEADING, _CAUSE_LINE, _LINKED_CAUSE, _REPORT_END)),
            report[1:_MAX_HEAD_LINES],
        )
    )
    begin = next((place for place, line in enumerate(head) if SUMMARY_LINE.search(line.text)), len(head))
    return " · ".join(line.text.strip() for line in head[begin:])


def _cause_statement(code: str, severity: str, aside: str | None, message: str, line: Line) -> Statement:
    doubt = _DOUBT_WORDS.search(aside or "")
    return Statement(
        f"{CAUSE_KEY}{code}",
        "\t".join((severity, doubt[0] if doubt else "certain", message.strip())),
        REPORT_READER,
        line.number,
        Directness.TOOL,
    )


def _unwrapped_message(message: str, following: Sequence[Line]) -> str:
    """Return a message with the lines into which it was wrapped."""
    wrapped = takewhile(
        lambda line: not any(form.search(line.text) for form in (_PART_HEADING, SUMMARY_LINE, _CAUSE_LINE, _REPORT_END)),
        following[:_MAX_WRAPPED_LINES],
    )
    return " ".join((message.strip(), *(line.text.strip() for line in wrapped)))


_MAX_WRAPPED_LINES, _MAX_HEAD_LINES = 8, 24
"""Lines of a message after its first, and of all above the first fix."""


def _last_place(lines: Sequence[Line], form: re.Pattern[str]) -> int:
    """Return the place of the last line of a form; 0 if there is none."""
    return next((place for place in range(len(lines) - 1, 0, -1) if form.search(lines[place].text)), 0)
