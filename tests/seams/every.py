"""A property of many cases as one test with a subtest for each: pytest takes longer to collect and report a test than such a case takes."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _typeshed import TraceFunction

MEASURED = 50
"""Coverage follows this many cases of each test: the others run the same code again."""
Test = Callable[..., None]


@contextmanager
def traced(trace: TraceFunction | None) -> Iterator[None]:
    """Put coverage's trace function in place, or none; pytest-cov's `no_cover` would stop and start all of coverage, as long as a short test takes."""
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def unmeasured(number: int, count: int) -> bool:
    """Whether coverage need not follow one of so many cases."""
    return number % -(-count // MEASURED) != 0


def every(argument: str, cases: Sequence[Any]) -> Callable[[Test], Test]:
    """Give a test each case in turn. A failure names its case, and the next ones still run. Cases share the test's fixtures."""

    def of_all(test: Test) -> Test:
        @functools.wraps(test)
        def one_test(*instance: object, subtests: pytest.Subtests, **fixtures: object) -> None:
            for number, case in enumerate(cases):
                with subtests.test(str(getattr(case, "name", case))), traced(None) if unmeasured(number, len(cases)) else nullcontext():
                    test(*instance, **{argument: case}, **fixtures)

        parameters = [parameter for parameter in inspect.signature(test).parameters.values() if parameter.name != argument]
        asked = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        one_test.__signature__ = inspect.Signature([*parameters, asked])  # type: ignore[attr-defined]
        return one_test

    return of_all
