"""The statements of a text, by what they are about."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.read.statements import Statement
from gpudoctor.snapshot import Cause, Fact, Missing

NOT_STATED = Missing(Cause.NOT_STATED, "the text does not state it")


class StatementIndex:
    """The statements of a text by what they are about; of several about one thing, the most direct, and of these the first."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._best: dict[str, Statement] = {}
        for statement in statements:
            if statement.what not in self._best or statement.rank > self._best[statement.what].rank:
                self._best[statement.what] = statement

    def get(self, what: str) -> Statement | None:
        """Return the statement about `what`, or None."""
        return self._best.get(what)

    def fact(self, what: str) -> Fact | Missing:
        """Return the fact about `what` with its line."""
        statement = self.get(what)
        return Fact(statement.value, statement.where) if statement else NOT_STATED

    def value(self, what: str) -> str | Missing:
        """Return the value stated of `what`."""
        statement = self.get(what)
        return statement.value if statement else NOT_STATED

    def all(self, prefix: str) -> dict[str, Statement]:
        """Return the statements whose key begins with `prefix`, by the rest of the key."""
        return {what.removeprefix(prefix): statement for what, statement in self._best.items() if what.startswith(prefix)}
