"""Finds which of many regular expressions match a line, and tries only those one of whose words the line contains.

A text has up to a million lines and gpudoctor knows hundreds of forms, so most are never compiled.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from gpudoctor.line_forms.cues import CUES

__all__ = ["PART", "LineForms"]

PART = "*"
"""Begins a cue that may be a part of a word."""
_WORD = re.compile(r"[a-z]+")
_TOGETHER = 10_000
"""Lines that are searched at once."""


class LineForms:
    """Some regular expressions, by place, and the cues of each: every line that it matches has one of these words."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._by_word: dict[str, list[int]] = {}
        self._by_part: dict[str, list[int]] = {}
        for place, pattern in enumerate(patterns):
            for cue in CUES.get(pattern, (PART,)):
                table = self._by_part if cue.startswith(PART) else self._by_word
                table.setdefault(cue.removeprefix(PART), []).append(place)

    def among(self, lines: Sequence[str]) -> Iterator[tuple[int, int, re.Match[str]]]:
        """Yield the number of each line and the place of each pattern that matches it, in order, with its first match.

        Looks for the cues in many lines at once: a line without any costs next to nothing.
        """
        for begin in range(0, len(lines), _TOGETHER):
            tried = self._tried([line.lower() for line in lines[begin : begin + _TOGETHER]])
            for number in sorted(tried):
                line = lines[begin + number]
                for place in sorted(tried[number]):
                    found = _compiled(self._patterns[place]).search(line)
                    if found:
                        yield begin + number, place, found

    def _tried(self, lowered: Sequence[str]) -> dict[int, set[int]]:
        """Return which patterns have a cue in which line."""
        text = "\n".join(lowered)
        starts = list(accumulate((len(line) + 1 for line in lowered), initial=0))
        tried: defaultdict[int, set[int]] = defaultdict(set)
        for word in self._by_word.keys() & set(_WORD.findall(text)):
            for place in _places(text, word):
                if _is_word(text, place, place + len(word)):
                    tried[bisect_right(starts, place) - 1].update(self._by_word[word])
        for part, patterns in self._by_part.items():
            if part in text:
                for number in range(len(lowered)) if not part else {bisect_right(starts, place) - 1 for place in _places(text, part)}:
                    tried[number].update(patterns)
        return tried


def _places(text: str, words: str) -> Iterator[int]:
    """Yield where `words` are in a text."""
    place = text.find(words)
    while place >= 0:
        yield place
        place = text.find(words, place + 1)


def _is_word(text: str, begin: int, end: int) -> bool:
    """Return whether no other letter is beside a part of a text."""
    return not ("a" <= text[begin - 1 : begin] <= "z" and begin) and not "a" <= text[end : end + 1] <= "z"


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
