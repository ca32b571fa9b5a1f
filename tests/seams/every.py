"""A property of many cases as one test with a subtest for each: pytest takes longer to collect and report a test than such a case takes."""

from __future__ import annotations

import functools
import inspect
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _typeshed import TraceFunction

LONG = 0.05
"""Seconds of processor time for which coverage follows a test or case: one that takes longer repeats the same code, which takes three times as long then.

A test that compares times is marked `untraced`: while a timer of processor time runs, Linux counts that time in ticks of milliseconds.
"""
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


@contextmanager
def followed(trace: TraceFunction | None) -> Iterator[None]:
    """Put coverage's trace function in place for LONG, or none."""
    again = LONG if trace else 0.0  # since what switches it off may switch it on
    before = signal.setitimer(signal.ITIMER_VIRTUAL, again, again)
    try:
        with traced(trace):
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *before)


@contextmanager
def as_subtest(subtests: pytest.Subtests, name: str) -> Iterator[None]:
    """Report a failure as that of a subtest. Passing subtests are not reported: each would take pytest half as long as a test."""
    try:
        yield
    except (Exception, pytest.fail.Exception, pytest.skip.Exception):
        with subtests.test(name):
            raise


def unmeasured(number: int, count: int) -> bool:
    """Whether coverage need not follow one of so many cases."""
    return number % -(-count // MEASURED) != 0


def every(argument: str, cases: Sequence[Any]) -> Callable[[Test], Test]:
    """Give a test each case in turn. A failure names its case, and the next ones still run. Cases share the test's fixtures."""

    def of_all(test: Test) -> Test:
        @functools.wraps(test)
        def one_test(*instance: object, subtests: pytest.Subtests, **fixtures: object) -> None:
            trace = sys.gettrace()
            for number, case in enumerate(cases):
                measured = None if unmeasured(number, len(cases)) else trace
                with as_subtest(subtests, str(getattr(case, "name", case))), followed(measured):
                    test(*instance, **{argument: case}, **fixtures)

        parameters = [parameter for parameter in inspect.signature(test).parameters.values() if parameter.name != argument]
        asked = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        one_test.__signature__ = inspect.Signature([*parameters, asked])  # type: ignore[attr-defined]
        return one_test

    return of_all
