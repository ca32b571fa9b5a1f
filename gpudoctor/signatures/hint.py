"""Words in a text that make one cause of an error likelier than another."""

from __future__ import annotations

import msgspec


class Hint(msgspec.Struct, frozen=True):
    """Words that are no fault themselves, the cause they speak for ("" if their numbers decide), and a line that has them."""

    pattern: str
    cause: str
    line: str
    said: bool = False
    """People say it, so a clause may only suppose it."""
