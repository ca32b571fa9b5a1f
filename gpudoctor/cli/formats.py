"""The forms in which a command writes its result."""

from __future__ import annotations

import enum


class Format(str, enum.Enum):
    """The form of a report."""

    TEXT = "text"
    JSON = "json"
    ONELINE = "oneline"
    JUNIT = "junit"


class TextOrJson(str, enum.Enum):
    """The form of anything else."""

    TEXT = "text"
    JSON = "json"
