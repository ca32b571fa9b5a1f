"""Slow read-only results are made once in a test run, by the first process that asks, and shared with the others."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

Made = TypeVar("Made")


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], Made]) -> Made:
    """Return the result of `make`; other processes of the same test run get an equal one under that name."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker's folder lies in the run's
        folder = folder.parent
    made = folder / f"{name}.pickle"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            made.write_bytes(pickle.dumps(make()))
        read: Made = pickle.loads(made.read_bytes())
        return read
