"""Reads gpudoctor's own report as the terminal and Markdown show it. Its lines are no log: no other reader sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from gpudoctor.expressions import expression
from gpudoctor.read.readers.gpudoctor_summary import SUMMARY, facts
from gpudoctor.read.statements import Line, Rank, Statement

NAME = "gpudoctor report"
VERDICT, CAUSE = "reported verdict", "reported:"
"""Keys of the verdict, and of a root cause with its code; a cause's value is its severity, confidence and message, between tabs."""

_MOST = 2000
"""Lines of a report."""
_VERDICTS = ("READY", "DEGRADED", "UNKNOWN", "BROKEN", "STOPPED")
_VERDICT = expression("|".join(_VERDICTS))
_ASIDE = r"(?: \((?P<aside>[^()]{0,80})\))?"
_HEAD = expression(
    rf"^\s{{0,8}}(?:#{{1,6}} )?(?:[^\w\s]|OK|X)? ?(?P<verdict>{'|'.join(_VERDICTS)})(?: (?P<code>GD\d{{3}}))?{_ASIDE}(?::|\s|$)(?P<message>.{{0,2000}})"
)
_CAUSE = expression(
    rf"^\s{{0,8}}(?:\*\*)?(?P<severity>[Ee]rror|[Ww]arning|[Nn]ote)(?: (?P<code>GD\d{{3}}))?{_ASIDE}:(?:\*\*)?(?: |$)(?P<message>.{{0,2000}})"
)
_LINKED = expression(r"^\s{0,8}#{1,6} \[(?P<code>GD\d{3})[^\]]{0,80}\]\(\S{1,300}\)(?P<aside>.{0,300})")
_NOTE = expression(
    r"^\s{0,8}- \[(?P<code>GD\d{3})[^\]]{0,80}\]\(\S{1,300}\)(?P<aside>(?: \([^()]{0,80}\))?): (?P<message>.{0,2000})(?<!\))$"
)
"""What is explained by a cause ends with a parenthesis that says so."""
_TITLE = expression(r"^\s{0,3}(?P<code>GD\d{3}) (?P<aside>[^:]{1,300})$")
"""A heading as a browser shows it."""
_PART = expression(
    r"^\s{0,8}(?:\*\*)?(?:Fix|Then|Check|Or instead|If that fails|Verify|Evidence|Also explains|Stages per GPU|Not checked|Verified|Examined|Tool|More)\b"
)
_END = expression(r"^\s{0,8}(?:More: |Tool: gpudoctor )|\bgpudoctor \d[\w.]{0,20}, (?:compatibility )?tables of \d{4}-")
_DOUBT = expression(r"\b(?:likely|possible)\b")


def reports(lines: Sequence[Line]) -> list[Sequence[Line]]:
    """Return the lines of each report among `lines`; a headline without a code is one only if the report's end follows."""
    heads = [(place, head) for place, line in enumerate(lines) if _VERDICT.search(line.text) and (head := _HEAD.match(line.text))]
    found = []
    for (place, head), after in zip(heads, [*(place for place, _ in heads[1:]), len(lines)], strict=False):
        within = lines[place : min(after, place + _MOST)]
        ended = _last(within, _END)
        if head["code"] or ended:
            found.append(within[: (ended or _last(within, _PART)) + 1])
    return found


def statements(report: Sequence[Line]) -> Iterator[Statement]:
    """Yield the verdict of a report, what its summary states, its root causes and its notes."""
    first, head = report[0], _HEAD.match(report[0].text)
    assert head is not None  # noqa: S101 -- as `reports` has seen
    yield Statement(VERDICT, head["verdict"], NAME, first.number, Rank.TOOL)
    yield from facts(_summary(report), NAME, first.number)
    usual = "error" if head["verdict"] == "BROKEN" else "warning"
    code = head["code"]
    if code:
        yield _cause(code, usual, head["aside"], _whole(head["message"], report[1:]), first)
    for place, (line, after) in enumerate(pairwise([*report, Line(0, "")])):
        cause, linked, title = _CAUSE.match(line.text), _LINKED.match(line.text), _TITLE.match(line.text)
        told = _CAUSE.match(after.text)
        heading = linked or (title if told or (not code and usual == "error") or (head["verdict"] == "DEGRADED" and not code) else None)
        if cause and cause["code"]:
            yield _cause(cause["code"], cause["severity"].lower(), cause["aside"], _whole(cause["message"], report[place + 1 :]), line)
        elif note := _NOTE.match(line.text):
            yield _cause(note["code"], "note", note["aside"], note["message"], line)
        elif heading and place:
            code = heading["code"]
            severity, message = (told["severity"].lower(), told["message"]) if told and not told["code"] else (usual, head["message"])
            yield _cause(code, severity, heading["aside"], message, line)


def _summary(report: Sequence[Line]) -> str:
    """Return the line that sums the machine up, joined again if it was wrapped; "" without one."""
    head = list(takewhile(lambda line: not any(form.search(line.text) for form in (_PART, _CAUSE, _LINKED, _END)), report[1:_HIGHEST]))
    begin = next((place for place, line in enumerate(head) if SUMMARY.search(line.text)), len(head))
    return " · ".join(line.text.strip() for line in head[begin:])


def _cause(code: str, severity: str, aside: str | None, message: str, line: Line) -> Statement:
    doubt = _DOUBT.search(aside or "")
    return Statement(
        f"{CAUSE}{code}", "\t".join((severity, doubt[0] if doubt else "certain", message.strip())), NAME, line.number, Rank.TOOL
    )


def _whole(message: str, following: Sequence[Line]) -> str:
    """Return a message with the lines into which it was wrapped."""
    wrapped = takewhile(lambda line: not any(form.search(line.text) for form in (_PART, SUMMARY, _CAUSE, _END)), following[:_WRAPPED])
    return " ".join((message.strip(), *(line.text.strip() for line in wrapped)))


_WRAPPED, _HIGHEST = 8, 24
"""Lines of a message after its first, and of all above the first fix."""


def _last(lines: Sequence[Line], form: re.Pattern[str]) -> int:
    """Return the place of the last line of a form; 0 if there is none."""
    return next((place for place in range(len(lines) - 1, 0, -1) if form.search(lines[place].text)), 0)
