"""Error messages of frameworks and NVIDIA libraries, and the findings they indicate. Pure data and a look-up."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

from gpudoctor.signatures.signature import Signature

__all__ = ["Signature", "SignatureMatch", "harmless_reason", "hinted_causes", "recognised_signatures"]

_MAX_CHARACTERS = 1 << 16
"""Characters to search, from the end."""
_MAX_LINE_LENGTH = 300
"""Characters of a line to show."""
_PARAGRAPH_LENGTH = 200
"""Characters of a line that may be a paragraph of prose, whose sentences say several things."""
_SENTENCE_END = re.compile(r"(?<=[a-z)])[.!?] {1,4}(?=[A-Z])")


class SignatureMatch(msgspec.Struct, frozen=True):
    """A known signature and the line that matched."""

    signature: Signature
    line: str

    @property
    def matched_text(self) -> str:
        """What of the line the signature matched."""
        found = re.search(self.signature.pattern, self.line)
        return found[0] if found else self.line

    @property
    def beside(self) -> str:
        """The line without what the signature matched."""
        return re.sub(self.signature.pattern, " ", self.line)


@functools.lru_cache(maxsize=4)
def recognised_signatures(text: str) -> tuple[SignatureMatch, ...]:
    """The known signatures in `text`, in the table's order, most specific first; each set of causes once, with its first line."""
    found: dict[tuple[str, ...], SignatureMatch] = {}
    for signature, line in _first_matches("table", "SIGNATURES", text[-_MAX_CHARACTERS:]):
        found.setdefault(signature.causes, SignatureMatch(signature, line))
    return tuple(found.values())


@functools.lru_cache(maxsize=4)
def hinted_causes(text: str) -> Mapping[str, str]:
    """Return the causes for which words in `text` speak, each with its first line; "" with a line that has numbers to compare."""
    return {hint.cause: line for hint, line in _first_matches("hints", "HINTS", text)}


def harmless_reason(line: str) -> str:
    """Return why a line that looks like an error is none; "" if it is not known to be harmless."""
    return next((why for pattern, why in _table("noise").HARMLESS if re.search(pattern, line)), "")


def _first_matches(module: str, name: str, text: str) -> Iterator[tuple[Any, str]]:
    """Yield each entry of a table that matches a line of the text, in the table's order, with the first such line."""
    table, lines, meant = getattr(_table(module), name), text.splitlines(), _table("phrases").meant
    first: dict[int, str] = {}
    for number, place, found in _line_forms(module, name).among(lines):
        if place not in first and (match := meant(found, said=table[place].said)):
            first[place] = _line_excerpt(lines[number], match)
    for place in sorted(first):
        yield table[place], first[place]


def _line_excerpt(line: str, match: re.Match[str]) -> str:
    """Return the line, a paragraph from the sentence on that matches."""
    begin = 0
    if len(line) > _PARAGRAPH_LENGTH:
        begin = max((hit.end() for hit in _SENTENCE_END.finditer(line) if hit.end() <= match.start()), default=0)
    told = line[begin:].strip()
    return told[-_MAX_LINE_LENGTH:] if match.end() - begin > _MAX_LINE_LENGTH else told[:_MAX_LINE_LENGTH]


@functools.cache
def _line_forms(module: str, name: str) -> Any:
    return import_module("gpudoctor.line_forms").LineForms([one.pattern for one in getattr(_table(module), name)])


@functools.cache
def _table(module: str) -> Any:
    """Return a table's module, loaded on first use: a machine in order has nothing to recognise."""
    return import_module(f"gpudoctor.signatures.{module}")
