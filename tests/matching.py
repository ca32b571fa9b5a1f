"""Draws texts that a regular expression matches: hypothesis takes 70 ms for each expression, and there are a thousand."""

from __future__ import annotations

import functools
import random
import re
import string
import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as sre
else:
    import sre_parse as sre

_LETTERS = string.ascii_letters + string.digits + string.punctuation + "\t" + " " * 60
"""Every other one is a space, which many patterns expect at the edge of a word."""
_MORE = 3
"""How often a part is repeated beyond what its expression demands, at most."""
_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W"}


def drawn(pattern: str, chance: random.Random) -> str:
    """Return a text that the pattern most likely matches, between other letters; what a look-around asks for is left out."""
    parsed = _parsed(pattern)
    around = chance.choice(["", " ", "".join(chance.choices(_LETTERS, k=3))])
    text = _text(parsed, chance, ignores_case=bool(parsed.state.flags & re.IGNORECASE))
    return f"{around}{text}{around}"


_parsed = functools.cache(sre.parse)


def _text(parsed: Any, chance: random.Random, *, ignores_case: bool) -> str:
    return "".join(_part(str(kind), value, chance, ignores_case=ignores_case) for kind, value in parsed)


def _part(kind: str, value: Any, chance: random.Random, *, ignores_case: bool) -> str:
    if kind == "BRANCH":
        return _text(chance.choice(value[1]), chance, ignores_case=ignores_case)
    if kind == "SUBPATTERN":
        _, added, removed, inner = value
        ignores = bool(added & re.IGNORECASE) or (ignores_case and not removed & re.IGNORECASE)
        return _text(inner, chance, ignores_case=ignores)
    if kind.endswith("_REPEAT"):
        least, most, inner = value
        times = chance.randint(least, min(int(most), least + _MORE))
        return "".join(_text(inner, chance, ignores_case=ignores_case) for _ in range(times))
    letter = _letter(kind, value, chance)
    return chance.choice([letter.lower(), letter.upper()]) if ignores_case else letter


def _letter(kind: str, value: Any, chance: random.Random) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "NOT_LITERAL":
        return chance.choice(_LETTERS.replace(chr(value), ""))
    if kind == "ANY":
        return chance.choice(_LETTERS)
    return chance.choice(_allowed(tuple(value))) if kind == "IN" else ""


@functools.cache
def _allowed(members: tuple[Any, ...]) -> str:
    """Return the letters of a class."""
    whole = re.compile("".join(("[", *(_member(str(kind), value) for kind, value in members), "]")))
    foreign = "".join(chr(value) for kind, value in members if str(kind) == "LITERAL" and value > ord("~"))
    return "".join(letter for letter in _LETTERS + foreign if whole.match(letter)) or "\n"


def _member(kind: str, value: Any) -> str:
    if kind == "NEGATE":
        return "^"
    if kind == "CATEGORY":
        return _CATEGORIES[str(value).removeprefix("CATEGORY_")]
    ends = value if kind == "RANGE" else (value,)
    return "-".join(re.escape(chr(end)) for end in ends)
