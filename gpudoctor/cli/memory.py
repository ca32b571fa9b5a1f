"""What a fleet's merge remembers: a history if --history names one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from gpudoctor.history import History
from gpudoctor.report.fleet import Fleet


class Oblivion:
    """Remembers nothing."""

    def add(self, node: str, created: str, causes: Iterable[tuple[str, str, str]]) -> None:
        """Do nothing."""

    def told(self, fleet: Fleet) -> Fleet:
        """Return the fleet as it is."""
        return fleet


def opened(path: str | None) -> AbstractContextManager[History | Oblivion]:
    """Return the history in a file; without a file one that remembers nothing. Raises UsageError."""
    if path is None:
        return nullcontext(Oblivion())
    return History(path)
