"""Finds which of many regular expressions match a line, and tries only those one of whose words the line contains.

A text has up to a million lines and gpudoctor knows hundreds of forms, so most are never compiled.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from gpudoctor.line_forms.cues import CUES

__all__ = ["PART", "LineForms"]

PART = "*"
"""Begins a cue that may be a part of a word."""
_WORD = re.compile(r"[a-z]+")


class LineForms:
    """Some regular expressions, by place, and the cues of each: words of which every line that it matches has one."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._by_word: dict[str, list[int]] = {}
        self._by_part: dict[str, list[int]] = {}
        for place, pattern in enumerate(patterns):
            for cue in CUES.get(pattern, (PART,)):
                table = self._by_part if cue.startswith(PART) else self._by_word
                table.setdefault(cue.removeprefix(PART), []).append(place)

    def within(self, text: str) -> LineForms:
        """Return the forms that can match some line of `text`, as far as parts of words tell."""
        lowered = text.lower()
        narrowed = LineForms(())
        narrowed._patterns = self._patterns
        narrowed._by_word = self._by_word
        narrowed._by_part = {part: places for part, places in self._by_part.items() if part in lowered}
        return narrowed

    def on(self, line: str) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield the place of each pattern that matches `line`, in order, with its first match."""
        lowered = line.lower()
        tried: set[int] = set()
        for word in self._by_word.keys() & set(_WORD.findall(lowered)):
            tried.update(self._by_word[word])
        for part, places in self._by_part.items():
            if part in lowered:
                tried.update(places)
        for place in sorted(tried):
            found = _compiled(self._patterns[place]).search(line)
            if found:
                yield place, found


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
