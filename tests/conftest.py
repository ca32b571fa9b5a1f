"""Registers the seams for all tests, and keeps the cost of coverage down."""

from __future__ import annotations

import os
import zlib

import pytest

# Threads that wait by spinning take the cores from other tests: NumPy's, before its import, and PyTorch's in every child.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest_plugins = ("tests.seams.fixtures", "tests.seams.skips")

TRACED = 6
"""Coverage follows the programs that every so many-th test starts: following all of them took three times as long and covered nothing more."""


@pytest.fixture(autouse=True)
def _coverage_of_few_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if zlib.crc32(request.node.nodeid.encode()) % TRACED:
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
