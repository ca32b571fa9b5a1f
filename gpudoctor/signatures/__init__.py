"""Error messages of frameworks and NVIDIA libraries, and the findings they indicate. Pure data and a look-up."""

from __future__ import annotations

import re

import msgspec

from gpudoctor.signatures.signature import Signature
from gpudoctor.signatures.table import SIGNATURES

__all__ = ["SIGNATURES", "Recognised", "Signature", "recognise"]

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
    for signature in SIGNATURES:
        match = signature.causes not in found and re.search(signature.pattern, text)
        if match:
            begin, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.start())
            line = text[begin : end if end >= 0 else len(text)].strip()
            found[signature.causes] = Recognised(signature, line[-_LONGEST:] if match.end() - begin > _LONGEST else line[:_LONGEST])
    return tuple(found.values())
