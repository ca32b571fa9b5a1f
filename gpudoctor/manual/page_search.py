"""Ranks rule pages by the words of a search text."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from gpudoctor.diagnose.rule import Rule
from gpudoctor.rule_pages import read_rule_page

_WORD_FORM = re.compile(r"[a-z0-9]+")
_MIN_PHRASE, _MIN_QUOTED_LINE = 20, 28
"""Characters of a text that is looked for as a whole, and of a quoted line that is specific enough to be looked for in a text."""
_QUOTED_LINE = re.compile(rf"`([^`\n]{{{_MIN_QUOTED_LINE},}})`")
_PCI_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\b")
"""A PCI address: another one in each log."""
_COMMON_WORDS = frozenset(
    _WORD_FORM.findall(
        "a an and are as at be by can cannot could do does for from has have i in is it its my no not of on or our the this to was were with you your such here there when what which will if get how why thing"
    )
)
_TITLE_WEIGHT, _SYMPTOMS_WEIGHT, _BODY_WEIGHT = 4, 2, 1
"""How much a word counts where it occurs."""
_MIN_COVERED = 0.55
"""The share of the search text, by weight, that a page must hold."""
_MIN_SCORE_SHARE = 0.7
"""Pages that score below this share of the best one are not shown."""
_MAX_PAGES = 5
_MIN_HOLDERS = 8
"""A word on fewer pages than this counts like one on so many; so does a word on none."""


class _SearchedPage(msgspec.Struct, frozen=True):
    rule: Rule
    symptoms: str
    """Plain, as `_comparable_text` makes it."""
    lines: tuple[str, ...]
    """The lines that its symptoms quote, plain."""
    weights: dict[str, int]
    """By word."""


def rules_quoting(text: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules whose symptoms hold the whole text, or quote a line that occurs in it, best first."""
    plain, words = _comparable_text(text), _distinctive_words(text)
    pages = [_searched_page(rule) for rule in rules] if len(plain) >= _MIN_PHRASE else []
    found = [page for page in pages if plain in page.symptoms or any(line in plain for line in page.lines)]
    return tuple(page.rule for page in sorted(found, key=lambda page: -sum(page.weights.get(word, 0) for word in words)))


def rules_matching(text: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules whose pages share the rarer words of `text`, best first."""
    return _ranked_rules(_distinctive_words(text), [_searched_page(rule) for rule in rules])


@functools.cache
def _searched_page(rule: Rule) -> _SearchedPage:
    page = read_rule_page(rule)
    symptoms = page.partition("## Symptoms")[2].partition("\n## ")[0]
    parts = ((_BODY_WEIGHT, page), (_SYMPTOMS_WEIGHT, symptoms), (_TITLE_WEIGHT, f"{rule.name} {rule.title}"))
    weights = {word: weight for weight, part in parts for word in _distinctive_words(part)}
    return _SearchedPage(rule, _comparable_text(symptoms), tuple(map(_comparable_text, _QUOTED_LINE.findall(symptoms))), weights)


def _ranked_rules(words: set[str], pages: list[_SearchedPage]) -> tuple[Rule, ...]:
    holders = Counter(word for page in pages for word in page.weights)
    rarity = {word: math.log(1 + len(pages) / max(holders[word], _MIN_HOLDERS)) for word in words}
    whole = sum(rarity.values())
    scores: dict[Rule, float] = {}
    for page in pages:
        shared = words & page.weights.keys()
        if shared and sum(rarity[word] for word in shared) >= _MIN_COVERED * whole:
            scores[page.rule] = sum(rarity[word] * page.weights[word] for word in shared)
    best = sorted(scores, key=lambda rule: -scores[rule])[:_MAX_PAGES]
    return tuple(rule for rule in best if scores[rule] >= _MIN_SCORE_SHARE * scores[best[0]])


def _comparable_text(text: str) -> str:
    return _PCI_ADDRESS.sub("0000:00:00", " ".join(text.casefold().split()))


def _distinctive_words(text: str) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in _WORD_FORM.findall(text.casefold())} - _COMMON_WORDS
