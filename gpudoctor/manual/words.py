"""Ranks rule pages by the words of a search text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from gpudoctor.diagnose.rule import Rule
from gpudoctor.rule_pages import read

_WORD = re.compile(r"[a-z0-9]+")
_QUOTED = re.compile(r"`([^`\n]{12,})`")
_COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "cannot",
        "could",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "i",
        "in",
        "is",
        "it",
        "its",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "the",
        "this",
        "to",
        "was",
        "were",
        "with",
        "you",
        "your",
    ]
)
_TITLE, _SYMPTOMS, _BODY = 4, 2, 1
"""How much a word counts where it occurs."""
_COVERED = 0.6
"""The share of the search text, by weight, that a page must hold."""
_NEAR = 0.7
"""Pages that score below this share of the best one are not shown."""
_MOST = 5


class _Page(msgspec.Struct, frozen=True):
    rule: Rule
    text: str
    """The whole page with blanks and case normalised."""
    weights: dict[str, int]
    """By word."""


def search(text: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules whose pages fit `text`, best first: those that quote it, else those that share its rarer words."""
    pages = [_page(rule, read(rule)) for rule in rules]
    return _ranked(_words(text), _quoting(_plain(text), pages)) or _ranked(_words(text), pages)


def _page(rule: Rule, page: str) -> _Page:
    symptoms = page.partition("## Symptoms")[2].partition("\n## ")[0]
    parts = ((_BODY, page), (_SYMPTOMS, symptoms), (_TITLE, f"{rule.name} {rule.title}"))
    return _Page(rule, _plain(page), {word: weight for weight, part in parts for word in _words(part)})


def _quoting(text: str, pages: list[_Page]) -> list[_Page]:
    """Return the pages that hold the whole text, or else those that quote a line that occurs in it."""
    holding = [page for page in pages if " " in text and text in page.text]
    quoting = [page for page in pages if any(line in text for line in _QUOTED.findall(page.text))]
    return holding or quoting


def _ranked(words: set[str], pages: list[_Page]) -> tuple[Rule, ...]:
    holders = Counter(word for page in pages for word in page.weights)
    rarity = {word: math.log(1 + len(pages) / holders[word]) if word in holders else 1.0 for word in words}
    whole = sum(rarity.values())
    scores: dict[Rule, float] = {}
    for page in pages:
        shared = words & page.weights.keys()
        if shared and sum(rarity[word] for word in shared) >= _COVERED * whole:
            scores[page.rule] = sum(rarity[word] * page.weights[word] for word in shared)
    best = sorted(scores, key=lambda rule: -scores[rule])[:_MOST]
    return tuple(rule for rule in best if scores[rule] >= _NEAR * scores[best[0]])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.casefold())} - _COMMON
