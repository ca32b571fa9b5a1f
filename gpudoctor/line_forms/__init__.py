"""Finds which of many regular expressions match a line, and tries only those one of whose cues the line contains.

A text has up to a million lines and gpudoctor knows hundreds of forms, so most are never compiled.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pkgutil import get_data
from typing import NamedTuple

from gpudoctor.typed_values import from_json

__all__ = ["CUES_BY_PATTERN", "PART_MARK", "LineForms"]

PART_MARK = "*"
"""Begins a cue that may be a part of a word."""
CUES_BY_PATTERN = from_json(get_data(__name__, "cues.json") or b"", dict[str, tuple[tuple[str, ...], ...]])
"""The cues of each regular expression; scripts/generate writes them."""
_LETTER_TABLE = bytes(code if ord("a") <= code <= ord("z") else ord(" ") for code in range(256))
"""Translates what is no letter to a space."""
_LETTER_RUN = re.compile(r"[a-z]+")
_GRAM_LENGTH = 4
"""Letters in a row by which parts of words are looked for at once."""
_LINES_TOGETHER = 10_000
"""Lines that are searched at once."""


_CueUses = list[tuple[int, tuple[str, ...]]]
"""Patterns by place, each with its cue: the word or part of a line that is looked for, and what the line must contain too."""


class LineForms:
    """Some regular expressions, by place, and the cues of each: every line that it matches, in any case, has one of these."""

    def __init__(self, patterns: Sequence[str], flags: int = 0) -> None:
        self._patterns, self._flags = patterns, flags
        self._by_word: dict[str, _CueUses] = {}
        self._by_part: dict[str, _CueUses] = {}
        for place, pattern in enumerate(patterns):
            for cue in CUES_BY_PATTERN.get(pattern, ((PART_MARK,),)):
                word = cue[0]
                if word[0] == PART_MARK:
                    self._by_part.setdefault(word[1:], []).append((place, cue))
                else:
                    self._by_word.setdefault(word, []).append((place, cue))
        self._parts = _parts_by_key(self._by_part)
        chunks = {max(_chunks_of_part(part)) for part in self._by_part}
        cut = {chunk for _, is_whole, chunk in chunks if not is_whole}
        self._words = self._by_word.keys() | {chunk for _, _, chunk in chunks} - cut
        self._chunks = _parts_by_key(cut)

    def among(self, lines: Sequence[str]) -> Iterator[tuple[int, int, re.Match[str]]]:
        """Yield the number of each line and the place of each pattern that matches it, in order, with its first match.

        Looks for the cues in many lines at once: a line without any costs next to nothing.
        """
        for begin in range(0, len(lines), _LINES_TOGETHER):
            tried = self._patterns_by_line([line.lower() for line in lines[begin : begin + _LINES_TOGETHER]])
            for number in sorted(tried):
                line = lines[begin + number]
                for place in sorted(tried[number]):
                    found = _compiled_pattern(self._patterns[place], self._flags).search(line)
                    if found:
                        yield begin + number, place, found

    def possible_lines(self, lines: Sequence[str]) -> set[int]:
        """Return the numbers of lines that may be a part of a longer line with a cue: any other lines together match nothing."""
        numbers: set[int] = set()
        for begin in range(0, len(lines), _LINES_TOGETHER):
            text = _SearchedLines([line.lower() for line in lines[begin : begin + _LINES_TOGETHER]])
            found = [text.lines_with_word(word) for word in self._words & text.words]
            found += [text.lines_with_part(chunk) for chunk in text.possible_parts(self._chunks)]
            numbers.update(begin + number for some in found for number in some)
        return numbers

    def _patterns_by_line(self, lowered: Sequence[str]) -> dict[int, set[int]]:
        """Return which patterns have a cue in which line."""
        text = _SearchedLines(lowered)
        found = [(text.lines_with_word(word), self._by_word[word]) for word in self._by_word.keys() & text.words]
        found += [(text.lines_with_part(part), self._by_part[part.text]) for part in text.possible_parts(self._parts)]
        tried: defaultdict[int, set[int]] = defaultdict(set)
        for numbers, uses in found:
            for number in numbers:
                line = lowered[number]
                places = [place for place, cue in uses if all(part in line for part in cue[1:])]
                if places:
                    tried[number].update(places)
        return tried


def _chunks_of_part(part: str) -> Iterator[tuple[int, bool, str]]:
    """Yield the bytes of each chunk without a space of a part of a line, whether it is a whole word, and the chunk."""
    for chunk in part.split() or ("",):
        yield len(chunk.encode()), f" {chunk} " in part and _LETTER_RUN.fullmatch(chunk) is not None, chunk


class _LinePart(NamedTuple):
    """A part of a line, and what every line with it has: whole words, and grams of words."""

    text: str
    words: set[str]
    grams: set[str]

    @classmethod
    def of(cls, text: str) -> _LinePart:
        runs = [(run[0], run.start() > 0 and run.end() < len(text)) for run in _LETTER_RUN.finditer(text)]
        cut = (run for run, is_whole in runs if not is_whole)
        return cls(text, {run for run, is_whole in runs if is_whole}, _grams_of_words(cut))


_PartsByKey = dict[str, list[_LinePart]]
"""Parts by what a line with them has: their longest whole word or a gram, otherwise a letter that ASCII lacks."""
_ANY_LINE, _FOREIGN_LETTER = "any line", "a foreign letter"


def _parts_by_key(texts: Iterable[str]) -> _PartsByKey:
    parts: _PartsByKey = {}
    for part in map(_LinePart.of, texts):
        other = _ANY_LINE if part.text.isascii() else _FOREIGN_LETTER
        parts.setdefault(max(part.words or part.grams, key=len, default=other), []).append(part)
    return parts


class _SearchedLines:
    """Many lines in which words are looked for at once."""

    def __init__(self, lowered: Sequence[str]) -> None:
        self._text = "\n".join(lowered)
        self._starts = list(accumulate((len(line) + 1 for line in lowered), initial=0))
        letters = self._text.encode("ascii", "replace").translate(_LETTER_TABLE).decode()
        self._letters = f" {letters} "
        self.words = set(letters.split())
        self._grams = _grams_of_words(self.words)
        self._keys = self.words | self._grams | {_ANY_LINE, _ANY_LINE if self._text.isascii() else _FOREIGN_LETTER}

    def possible_parts(self, parts: _PartsByKey) -> Iterator[_LinePart]:
        """Yield the parts whose key the lines have."""
        return chain.from_iterable(parts[key] for key in parts.keys() & self._keys)

    def lines_with_word(self, word: str) -> set[int]:
        """Return the numbers of the lines with a word."""
        return self._numbers_of_lines(self._letters, f" {word} ")

    def lines_with_part(self, part: _LinePart) -> set[int]:
        """Return the numbers of the lines with a part."""
        if not part.text:
            return set(range(len(self._starts) - 1))
        return self._numbers_of_lines(self._text, part.text) if part.words <= self.words and part.grams <= self._grams else set()

    def _numbers_of_lines(self, text: str, words: str) -> set[int]:
        numbers: set[int] = set()
        place = text.find(words)
        while place >= 0:
            number = bisect_right(self._starts, place) - 1
            numbers.add(number)
            place = text.find(words, self._starts[number + 1] - 1)
        return numbers


def _grams_of_words(words: Iterable[str]) -> set[str]:
    return {word[begin : begin + _GRAM_LENGTH] for word in words for begin in range(len(word) - _GRAM_LENGTH + 1)}


@functools.cache
def _compiled_pattern(pattern: str, flags: int) -> re.Pattern[str]:
    return re.compile(pattern, flags)
