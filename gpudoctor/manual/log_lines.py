"""Explains log lines by the table of signatures."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.line_forms import LineForms
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.signatures import Signature
from gpudoctor.signatures.table import SIGNATURES

_RULE_BY_NAME = {rule.name: rule for rule in RULES}
_MAX_TEXT = 1 << 16
"""Characters of a pasted log that are searched, from the end."""


def explain_log(text: str) -> ManualAnswer:
    """Return what the known lines of a pasted log mean; of several signs in one line only the most specific counts.

    Signs with the same pattern count together, the usual causes first and a guess last: only facts about a machine could choose between them.
    """
    first = dict.fromkeys(sign.pattern for sign in _first_signs(text[-_MAX_TEXT:].splitlines()))
    found = [sign for pattern in first for sign in reversed(SIGNATURES) if sign.pattern == pattern]
    found.sort(key=lambda sign: sign.guess)
    return ManualAnswer(
        tuple(dict.fromkeys(f"Meaning: {sign.meaning}." for sign in found)),
        rules_by_name(*(cause for sign in found for cause in sign.causes)),
    )


def first_sign(line: str) -> Signature | None:
    """Return the most specific known sign in a line."""
    return next(iter(_first_signs([line])), None)


def _first_signs(lines: Sequence[str]) -> list[Signature]:
    first: dict[int, Signature] = {}
    for number, place, _ in _forms().among(lines):
        first.setdefault(number, SIGNATURES[place])
    return list(first.values())


@functools.cache
def _forms() -> LineForms:
    return LineForms([sign.pattern for sign in SIGNATURES], re.IGNORECASE)


def rules_by_name(*names: str) -> tuple[Rule, ...]:
    """Return the rules of these names, each once."""
    return tuple(_RULE_BY_NAME[name] for name in dict.fromkeys(names))
