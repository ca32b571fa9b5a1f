"""Error messages of frameworks and NVIDIA libraries, and the findings they indicate. Pure data and a look-up."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import msgspec

from gpudoctor.signatures.signature import Signature

__all__ = ["Recognised", "Signature", "harmless", "hinted", "recognise"]

_END = 1 << 16
"""Characters to search, from the end."""
_LONGEST = 300
"""Characters of a line to show."""


class Recognised(msgspec.Struct, frozen=True):
    """A known signature and the line that matched."""

    signature: Signature
    line: str


def recognise(text: str) -> tuple[Recognised, ...]:
    """The known signatures in `text`, in the table's order, most specific first; each set of causes once, with its first line."""
    text = text[-_END:]
    found: dict[tuple[str, ...], Recognised] = {}
    for signature in _table("table").SIGNATURES:
        match = signature.causes not in found and re.search(signature.pattern, text, re.MULTILINE)
        if match:
            found[signature.causes] = Recognised(signature, _line(text, match))
    return tuple(found.values())


def hinted(text: str) -> dict[str, str]:
    """Return the causes for which words in `text` speak, each with its first line; "" with a line that has numbers to compare."""
    found: dict[str, str] = {}
    for hint in _table("hints").HINTS:
        match = re.search(hint.pattern, text, re.MULTILINE)
        if match:
            found[hint.cause] = _line(text, match)
    return found


def harmless(line: str) -> str:
    """Return why a line that looks like an error is none; "" if it is not known to be harmless."""
    return next((why for pattern, why in _table("hints").HARMLESS if re.search(pattern, line)), "")


def _line(text: str, match: re.Match[str]) -> str:
    begin, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.start())
    line = text[begin : end if end >= 0 else len(text)].strip()
    return line[-_LONGEST:] if match.end() - begin > _LONGEST else line[:_LONGEST]


def _table(module: str) -> Any:
    """Return a table's module, loaded on first use: a machine in order has nothing to recognise."""
    return import_module(f"gpudoctor.signatures.{module}")
