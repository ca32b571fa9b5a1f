"""The constants that a Python file assigns at module level, read without running it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Fact, Missing, printable_text

_PARSE_ERRORS = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


class FileConstants:
    """The constants of one file by name, each with its value or why it is missing."""

    def __init__(self, path: str, inside: str = "", nothing: str = "") -> None:
        """Read the file at `path`; `inside` names a dictionary in it that holds the constants, if it exists.

        The text `nothing` means None.
        """
        self._where = printable_text(path)
        self._nothing = nothing
        text = files.read_text(path)
        self._values: Mapping[object, object] | Missing = text if isinstance(text, Missing) else self._parsed_values(text)
        if not isinstance(self._values, Missing):
            nested = self._values.get(inside)
            self._values = nested if isinstance(nested, dict) else self._values

    def _parsed_values(self, text: str) -> Mapping[object, object] | Missing:
        try:
            return dict(constant_assignments(text))
        except ValueError as error:
            return Missing(Cause.FAILED, f"{self._where}: {error}")

    def has_value(self, name: str) -> bool | Missing:
        """Whether `name` has a value other than None; missing if the file cannot be read."""
        return self._values if isinstance(self._values, Missing) else self._values.get(name) not in (None, self._nothing or None)

    def states(self, name: str) -> bool | Missing:
        """The same; missing too if the file does not assign `name`, as an empty or shortened one does not."""
        given = self.has_value(name)
        if isinstance(given, Missing) or isinstance(self._values, Missing) or name in self._values:
            return given
        return Missing(Cause.FAILED, f"{self._where} does not assign {name}")

    def read_flag(self, name: str) -> bool | Missing:
        """A truth value."""
        value = self._value_of(name)
        return value if isinstance(value, bool | Missing) else self._wrong_type(name, value)

    def text(self, *names: str) -> Fact | Missing:
        """The text of the first of `names` that exists; absent if None or empty."""
        first = self._value_of(names[0])
        for name in names:
            value = self._value_of(name)
            if isinstance(value, str) and value:
                return Fact(printable_text(value), self._where)
        return first if isinstance(first, Missing) else self._wrong_type(names[0], first)

    def read_texts(self, name: str) -> tuple[str, ...] | Missing:
        """A list of strings."""
        value = self._value_of(name)
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            return tuple(printable_text(one) for one in value)
        return value if isinstance(value, Missing) else self._wrong_type(name, value)

    def _value_of(self, name: str) -> object:
        if isinstance(self._values, Missing):
            return self._values
        value = self._values.get(name)
        return Missing(Cause.ABSENT, f"{self._where} has no {name}") if value is None or value in ("", self._nothing) else value

    def _wrong_type(self, name: str, value: object) -> Missing:
        return Missing(Cause.FAILED, f"{self._where}: {name} is {printable_text(repr(value)[:80])}")


def constant_assignments(source: str) -> Iterator[tuple[str, object]]:
    """Name and value of each module-level assignment of a plain value; an ordered dictionary's pairs become a dictionary.

    Raises ValueError if `source` is not Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes that a newer Python deprecates
            body = ast.parse(source).body
    except _PARSE_ERRORS as error:
        raise ValueError(f"not valid Python ({type(error).__name__})") from None
    for statement in body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            try:
                value = _literal_value(statement.value)
            except _PARSE_ERRORS:
                continue
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))


def _literal_value(expression: ast.expr) -> object:
    if isinstance(expression, ast.Call) and "OrderedDict" in ast.dump(expression.func) and expression.args:
        return dict(ast.literal_eval(expression.args[0]))
    return ast.literal_eval(expression)
