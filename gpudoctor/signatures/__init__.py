"""What frameworks and NVIDIA's libraries say when something is wrong, and the finding that it is a sign of. Pure data and a look-up."""

from __future__ import annotations

import re

import msgspec

from gpudoctor.signatures.table import SIGNATURES, Signature

__all__ = ["SIGNATURES", "Recognised", "Signature", "recognise"]

_END = 1 << 16
"""Characters that are looked through, from the end."""
_LONGEST = 300
"""Characters of a line that are shown."""


class Recognised(msgspec.Struct, frozen=True):
    """A known sign and the line that bears it."""

    signature: Signature
    line: str


def recognise(text: str) -> tuple[Recognised, ...]:
    """The known signs in `text`, in the table's order, the most telling first; each set of causes once, with the first line that shows it."""
    text = text[-_END:]
    found: dict[tuple[str, ...], Recognised] = {}
    for signature in SIGNATURES:
        match = signature.causes not in found and re.search(signature.pattern, text)
        if match:
            begin, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.start())
            line = text[begin : end if end >= 0 else len(text)].strip()
            found[signature.causes] = Recognised(signature, line[-_LONGEST:] if match.end() - begin > _LONGEST else line[:_LONGEST])
    return tuple(found.values())
