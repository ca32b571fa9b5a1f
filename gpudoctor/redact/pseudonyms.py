"""What stands in place of a removed value: in a report its kind, in a ticket a pseudonym, the same for the same value throughout."""

from __future__ import annotations

import enum
import re
from collections import Counter


class Kind(str, enum.Enum):
    """What was removed."""

    SECRET = "secret"  # noqa: S105 -- the word, not one
    CREDENTIALS = "credentials"
    HOME = "home"
    USER = "user"
    HOST = "host"
    ADDRESS = "address"
    MAC = "mac"
    MAIL = "e-mail"
    UUID = "uuid"
    SERIAL = "serial"


REMOVED, HOME = "***", "~"
_FIXED = {Kind.SECRET: REMOVED, Kind.CREDENTIALS: REMOVED, Kind.HOME: HOME}
KINDS = "|".join(kind.value for kind in Kind)
_STANDS = rf"{re.escape(REMOVED)}|{HOME}|<(?:{KINDS})(?:-\d{{1,9}})?>"
_NUMBERED = rf"<({KINDS})-(\d{{1,9}})>"


def is_removed(value: str) -> bool:
    """Return whether `value` already stands for something that was removed."""
    return re.fullmatch(_STANDS, value) is not None


class Marks:
    """Stands for a removed value by its kind alone: <host>, *** for a secret, ~ for a home folder."""

    def of(self, kind: Kind, value: str, *, everywhere: bool = False) -> str:  # noqa: ARG002 -- pseudonyms need the value
        """Return what stands in the place of `value`. `everywhere`: it is surely a name, and is to be removed where nothing shows that."""
        return _FIXED.get(kind) or f"<{kind.value}>"

    def folder(self, user: str) -> str:  # noqa: ARG002 -- pseudonyms need the user
        """Return what stands in the place of a folder called by a user's name."""
        return HOME


class Pseudonyms(Marks):
    """Numbers the values of a kind in the order in which they were met: <host-1>."""

    def __init__(self, redacted: str) -> None:
        """Pseudonyms that stand in `redacted` already are not given out again."""
        self._names: dict[tuple[Kind, str], str] = {}
        self._everywhere: dict[tuple[Kind, str], None] = {}
        self._last: Counter[str] = Counter()
        for kind, number in re.findall(_NUMBERED, redacted):
            self._last[kind] = max(self._last[kind], int(number))

    def of(self, kind: Kind, value: str, *, everywhere: bool = False) -> str:
        """Return the pseudonym of `value`; lower and upper case make no difference."""
        key = kind, value.lower()
        if everywhere:
            self._everywhere[key] = None
        if key not in self._names:
            self._last[kind.value] += 1
            self._names[key] = HOME if kind is Kind.HOME else f"<{kind.value}-{self._last[kind.value]}>"
        return self._names[key]

    def folder(self, user: str) -> str:
        """Return the pseudonym of a user by whose name a folder is called."""
        return self.of(Kind.USER, user, everywhere=True)

    def values(self, kind: Kind) -> tuple[str, ...]:
        """Return the values of a kind that are to be removed everywhere, in lower case."""
        return tuple(value for one, value in self._everywhere if one is kind)

    def counts(self) -> dict[Kind, int]:
        """Return how many different values of each kind were removed."""
        return dict(Counter(kind for kind, _ in self._names))
