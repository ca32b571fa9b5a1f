"""Ranks rule pages by the words of a search text."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from gpudoctor.diagnose.rule import Rule
from gpudoctor.rule_pages import read

_WORD = re.compile(r"[a-z0-9]+")
_PHRASE, _SPECIFIC = 20, 28
"""Characters of a text that is looked for as a whole, and of a quoted line that is specific enough to be looked for in a text."""
_QUOTED = re.compile(rf"`([^`\n]{{{_SPECIFIC},}})`")
_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\b")
"""A PCI address: another one in each log."""
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by can cannot could do does for from has have i in is it its my no not of on or our the this to was were with you your such here there when what which will if get how why thing"
    )
)
_TITLE, _SYMPTOMS, _BODY = 4, 2, 1
"""How much a word counts where it occurs."""
_COVERED = 0.55
"""The share of the search text, by weight, that a page must hold."""
_NEAR = 0.7
"""Pages that score below this share of the best one are not shown."""
_MOST = 5
_UNHEARD = 8
"""A word on fewer pages than this counts like one on so many; so does a word on none."""


class _RulePage(msgspec.Struct, frozen=True):
    rule: Rule
    symptoms: str
    """Plain, as `_plain` makes it."""
    lines: tuple[str, ...]
    """The lines that its symptoms quote, plain."""
    weights: dict[str, int]
    """By word."""


def quoting(text: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules whose symptoms hold the whole text, or quote a line that occurs in it, best first."""
    plain, words = _plain(text), _words(text)
    pages = [_page(rule) for rule in rules] if len(plain) >= _PHRASE else []
    found = [page for page in pages if plain in page.symptoms or any(line in plain for line in page.lines)]
    return tuple(page.rule for page in sorted(found, key=lambda page: -sum(page.weights.get(word, 0) for word in words)))


def search(text: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules whose pages share the rarer words of `text`, best first."""
    return _ranked(_words(text), [_page(rule) for rule in rules])


@functools.cache
def _page(rule: Rule) -> _RulePage:
    page = read(rule)
    symptoms = page.partition("## Symptoms")[2].partition("\n## ")[0]
    parts = ((_BODY, page), (_SYMPTOMS, symptoms), (_TITLE, f"{rule.name} {rule.title}"))
    weights = {word: weight for weight, part in parts for word in _words(part)}
    return _RulePage(rule, _plain(symptoms), tuple(map(_plain, _QUOTED.findall(symptoms))), weights)


def _ranked(words: set[str], pages: list[_RulePage]) -> tuple[Rule, ...]:
    holders = Counter(word for page in pages for word in page.weights)
    rarity = {word: math.log(1 + len(pages) / max(holders[word], _UNHEARD)) for word in words}
    whole = sum(rarity.values())
    scores: dict[Rule, float] = {}
    for page in pages:
        shared = words & page.weights.keys()
        if shared and sum(rarity[word] for word in shared) >= _COVERED * whole:
            scores[page.rule] = sum(rarity[word] * page.weights[word] for word in shared)
    best = sorted(scores, key=lambda rule: -scores[rule])[:_MOST]
    return tuple(rule for rule in best if scores[rule] >= _NEAR * scores[best[0]])


def _plain(text: str) -> str:
    return _ADDRESS.sub("0000:00:00", " ".join(text.casefold().split()))


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.casefold())} - _COMMON
