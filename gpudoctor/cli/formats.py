"""The forms in which a command writes its result."""

from __future__ import annotations

import enum


class Format(str, enum.Enum):
    """The form of a report."""

    TEXT = "text"
    JSON = "json"
    ONELINE = "oneline"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    GITHUB = "github"
    SARIF = "sarif"


FOR_PEOPLE = frozenset((Format.TEXT, Format.MARKDOWN, Format.GITHUB))
"""What a person reads, in a terminal or a log."""


class TicketFormat(str, enum.Enum):
    """The form of a ticket."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


class TextOrJson(str, enum.Enum):
    """The form of anything else."""

    TEXT = "text"
    JSON = "json"


class TextMarkdownOrJson(str, enum.Enum):
    """The form of what people read, paste or process."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
