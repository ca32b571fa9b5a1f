"""What stands in place of a removed value: in a report its kind, in a ticket a pseudonym, the same for the same value throughout."""

from __future__ import annotations

import enum
import re
from collections import Counter


class RemovedKind(str, enum.Enum):
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


REMOVED_MARK, HOME_MARK = "***", "~"
_FIXED_MARKS = {RemovedKind.SECRET: REMOVED_MARK, RemovedKind.CREDENTIALS: REMOVED_MARK, RemovedKind.HOME: HOME_MARK}
KIND_NAMES = "|".join(kind.value for kind in RemovedKind)
_MARK_FORM = rf"{re.escape(REMOVED_MARK)}|{HOME_MARK}|<(?:{KIND_NAMES})(?:-\d{{1,9}})?>"
_NUMBERED_MARK = rf"<({KIND_NAMES})-(\d{{1,9}})>"


def is_removed(value: str) -> bool:
    """Return whether `value` already stands for something that was removed."""
    return re.fullmatch(_MARK_FORM, value) is not None


class RemovalMarks:
    """Stands for a removed value by its kind alone: <host>, *** for a secret, ~ for a home folder."""

    def of(self, kind: RemovedKind, value: str, *, everywhere: bool = False) -> str:  # noqa: ARG002 -- pseudonyms need the value
        """Return what stands in the place of `value`. `everywhere`: it is surely a name, and is to be removed where nothing shows that."""
        return _FIXED_MARKS.get(kind) or f"<{kind.value}>"

    def folder(self, user: str) -> str:  # noqa: ARG002 -- pseudonyms need the user
        """Return what stands in the place of a folder called by a user's name."""
        return HOME_MARK


class Pseudonyms(RemovalMarks):
    """Numbers the values of a kind in the order in which they were met: <host-1>."""

    def __init__(self, redacted: str) -> None:
        """Pseudonyms that stand in `redacted` already are not given out again."""
        self._names: dict[tuple[RemovedKind, str], str] = {}
        self._everywhere: dict[tuple[RemovedKind, str], None] = {}
        self._last: Counter[str] = Counter()
        for kind, number in re.findall(_NUMBERED_MARK, redacted):
            self._last[kind] = max(self._last[kind], int(number))

    def of(self, kind: RemovedKind, value: str, *, everywhere: bool = False) -> str:
        """Return the pseudonym of `value`; lower and upper case make no difference."""
        key = kind, value.lower()
        if everywhere:
            self._everywhere[key] = None
        if key not in self._names:
            self._last[kind.value] += 1
            self._names[key] = HOME_MARK if kind is RemovedKind.HOME else f"<{kind.value}-{self._last[kind.value]}>"
        return self._names[key]

    def folder(self, user: str) -> str:
        """Return the pseudonym of a user by whose name a folder is called."""
        return self.of(RemovedKind.USER, user, everywhere=True)

    def values(self, kind: RemovedKind) -> tuple[str, ...]:
        """Return the values of a kind that are to be removed everywhere, in lower case."""
        return tuple(value for one, value in self._everywhere if one is kind)

    def counts(self) -> dict[RemovedKind, int]:
        """Return how many different values of each kind were removed."""
        return dict(Counter(kind for kind, _ in self._names))
