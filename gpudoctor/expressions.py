"""Regular expressions that cost nothing until they are used: gpudoctor has hundreds, and a text needs few."""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Stands for a regular expression and compiles it when a method of it is first called."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def expression(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled at its first use."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))
