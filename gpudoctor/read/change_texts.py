"""Tells a text that describes a change to a program from one about a machine: a pull request quotes errors that are not its author's."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.statements import Line

_CHANGE_TITLE = expression(
    r"\W{0,4}(?:(?:feat|fix|docs|chore|refactor)(?:\([^)\n]{1,60}\))?|(?:test|ci|build|perf|style)\([^)\n]{1,60}\))!?: \S"
)
"""A title as https://www.conventionalcommits.org has it."""
_CHANGE_MARKER = expression(
    r"(?i)\bthis (?:PR|pull request|MR|merge request|patch|commit) (?:\w{1,12}ly )?(?:add|fix|address|introduc|implement|updat|mak|improv|remov|chang|allow|ensur|handl)\w{0,4}\b"
    r"|^#{1,4} (?:changes(?: made)?|what changed|summary of changes|test plan|what (?:does )?this (?:PR|change)\b.{0,40}|why are these changes needed\??|how (?:has|was) this (?:been )?tested\??)\W{0,2}$"
    r"|^\W{0,4}(?:fixes|closes|resolves):? (?:[\w.-]{1,40}/[\w.-]{1,60})?#\d{1,7}\b"
)
"""What stands in the description of a pull request."""
_HEAD_LINES = 20
"""Lines in which a text says what it is. What is below may be an answer to it."""


def describes_change(lines: Sequence[Line]) -> bool:
    """Return whether a text describes a change to a program: a commit or a pull request."""
    head = lines[:_HEAD_LINES]
    return any(_CHANGE_TITLE.match(line.text) for line in head[:1]) or any(_CHANGE_MARKER.search(line.text) for line in head)
