"""Error messages of frameworks and NVIDIA libraries, and the findings they indicate. Pure data and a look-up."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

from gpudoctor.signatures.signature import Signature

__all__ = ["Recognised", "Signature", "harmless", "hinted", "recognise"]

_END = 1 << 16
"""Characters to search, from the end."""
_LONGEST = 300
"""Characters of a line to show."""
_PARAGRAPH = 200
"""Characters of a line that may be a paragraph of prose, whose sentences say several things."""
_SENTENCE_END = re.compile(r"(?<=[a-z)])[.!?] {1,4}(?=[A-Z])")


class Recognised(msgspec.Struct, frozen=True):
    """A known signature and the line that matched."""

    signature: Signature
    line: str

    @property
    def matched(self) -> str:
        """What of the line the signature matched."""
        found = re.search(self.signature.pattern, self.line)
        return found[0] if found else self.line

    @property
    def beside(self) -> str:
        """The line without what the signature matched."""
        return re.sub(self.signature.pattern, " ", self.line)


@functools.lru_cache(maxsize=4)
def recognise(text: str) -> tuple[Recognised, ...]:
    """The known signatures in `text`, in the table's order, most specific first; each set of causes once, with its first line."""
    found: dict[tuple[str, ...], Recognised] = {}
    for signature, line in _first_matches("table", "SIGNATURES", text[-_END:]):
        found.setdefault(signature.causes, Recognised(signature, line))
    return tuple(found.values())


@functools.lru_cache(maxsize=4)
def hinted(text: str) -> Mapping[str, str]:
    """Return the causes for which words in `text` speak, each with its first line; "" with a line that has numbers to compare."""
    return {hint.cause: line for hint, line in _first_matches("hints", "HINTS", text)}


def harmless(line: str) -> str:
    """Return why a line that looks like an error is none; "" if it is not known to be harmless."""
    return next((why for pattern, why in _table("noise").HARMLESS if re.search(pattern, line)), "")


def _first_matches(module: str, name: str, text: str) -> Iterator[tuple[Any, str]]:
    """Yield each entry of a table that matches a line of the text, in the table's order, with the first such line."""
    table, lines, meant = getattr(_table(module), name), text.splitlines(), _table("phrases").meant
    first: dict[int, str] = {}
    for number, place, found in _forms(module, name).among(lines):
        if place not in first and (match := meant(found, said=table[place].said)):
            first[place] = _shown(lines[number], match)
    for place in sorted(first):
        yield table[place], first[place]


def _shown(line: str, match: re.Match[str]) -> str:
    """Return the line, a paragraph from the sentence on that matches."""
    begin = 0
    if len(line) > _PARAGRAPH:
        begin = max((hit.end() for hit in _SENTENCE_END.finditer(line) if hit.end() <= match.start()), default=0)
    told = line[begin:].strip()
    return told[-_LONGEST:] if match.end() - begin > _LONGEST else told[:_LONGEST]


@functools.cache
def _forms(module: str, name: str) -> Any:
    return import_module("gpudoctor.line_forms").LineForms([one.pattern for one in getattr(_table(module), name)])


@functools.cache
def _table(module: str) -> Any:
    """Return a table's module, loaded on first use: a machine in order has nothing to recognise."""
    return import_module(f"gpudoctor.signatures.{module}")
