"""Suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

_LEAST_SIMILARITY, _MAX_DISTANCE = 0.6, 0.1
"""How similar two spellings must be, from 0 to 1, and how far a further suggestion may be behind the best."""


def nearest_names(word: str, known: Iterable[str], *, most: int = 3) -> tuple[str, ...]:
    """Up to `most` of the known names spelt like `word`, the most similar first; case does not matter."""
    difflib = import_module("difflib")  # 1 ms, and most words are known
    typed, spelt = word.casefold().replace("_", "-"), {name.casefold(): name for name in known}
    alike = {
        match: difflib.SequenceMatcher(None, typed, match).ratio()
        for match in difflib.get_close_matches(typed, spelt, most, _LEAST_SIMILARITY)
    }
    return tuple(spelt[one] for one, ratio in alike.items() if ratio >= max(alike.values()) - _MAX_DISTANCE)


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """The end of an error sentence: "did you mean driver-too-old?", or `otherwise` if no known name is similar."""
    found = nearest_names(word, known)
    return f"did you mean {alternatives_text(found)}?" if found else otherwise


def alternatives_text(names: Sequence[str]) -> str:
    """The names as alternatives: "a, b or c"."""
    return " or ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])
