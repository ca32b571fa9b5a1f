"""Registers the seams for all tests, and keeps the cost of coverage down."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import settings

from tests.seams.every import followed, traced, unmeasured

# Threads that wait by spinning take the cores from other tests: NumPy's, before its import, and PyTorch's in every child.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Python's default looks for garbage among the 30,000 tests all the time: a third of their collection, a sixth of what short tests take.
gc.set_threshold(100_000, 50, 100)

# Without bytecode each of thousands of started programs would compile gpudoctor again, three times the work of a check, and each worker the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Who starts the tests in the background or under nohup has signals ignored, and each program that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# An example that takes long on a busy machine is not wrong.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")

pytest_plugins = ("tests.seams.fixtures", "tests.seams.skips")

TRACED = 12
"""Coverage follows the programs that every so many-th test starts: following all of them took three times as long and covered nothing more."""

FIRST = ("tests/on_ray/", "tests/smoke/", "tests/scripts/")
"""What takes minutes or mostly waits: a run that began with anything else would end with waiting for it."""

FRAMEWORKS = (
    "tests/model_files/",
    "tests/test_machines.py",
    "tests/test_patients.py",
    "tests/test_trace.py",
    "tests/test_watched_training.py",
)
"""Like these, tests whose programs are frameworks, or checks that many other tests start: coverage follows none of their programs."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    if config.getoption("cov_context", None):
        return  # which test runs a line is asked of every variant
    variants: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        variants[item.nodeid.partition("[")[0]].append(item)
    for same in variants.values():
        for number, item in enumerate(same):
            if unmeasured(number, len(same)):
                item.add_marker("untraced")


class Followed:
    """Coverage follows the bodies and fixtures of tests: under its trace function all Python takes longer, pytest's and xdist's too."""

    def __init__(self) -> None:
        self._trace, self._follows = sys.gettrace(), False
        signal.signal(signal.SIGVTALRM, lambda *_: sys.settrace(None))

    @contextmanager
    def _for_a_while(self) -> Iterator[None]:
        threads = threading.gettrace()
        if not self._follows:
            threading.settrace(None)  # threads would be followed too
        try:
            with followed(self._trace if self._follows else None):
                yield
        finally:
            threading.settrace(threads)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._follows = not item.get_closest_marker("untraced")
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self) -> Generator[None, object, object]:
        with self._for_a_while():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Generator[None, object, object]:
        with self._for_a_while():
            return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Coverage does not follow it: tests/test_imports.py imports every module once more, under coverage."""
    with traced(None):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    if sys.gettrace() is None:
        return (yield)
    session.config.pluginmanager.register(Followed())
    with traced(None):
        return (yield)


@pytest.fixture(autouse=True)
def _coverage_of_few_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = zlib.crc32(request.node.nodeid.encode()) % TRACED == 0 and not request.node.nodeid.startswith((*FIRST, *FRAMEWORKS))
    if not chosen and not request.node.get_closest_marker("followed"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
