"""How slow this machine is now: deadlines that suppose a quiet one are multiplied by it. A busy machine fails no cell."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

QUIET: Final = 0.4
"""Seconds that a check of an empty machine takes at most on two quiet processors; 0.2 were measured."""
FRESH: Final = 20.0
"""Seconds for which a measured pace is taken for the present one."""
SLOWER: Final = 1.5
"""A machine whose pace has grown by more than this has become slower: what a cell said of deadlines meanwhile is void."""


def start_of(command: Sequence[str]) -> float:
    """Return the seconds that a command takes."""
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.monotonic() - began


class Pace:
    """How many times slower than a quiet machine this one is; at least 1."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure, self._lock = measure, Lock()
        self._pace, self._measured = 1.0, float("-inf")

    def now(self) -> float:
        """Return the pace, measured a moment ago."""
        with self._lock:
            return self._pace if time.monotonic() - self._measured < FRESH else self._again()

    def is_slower(self, supposed: float) -> bool:
        """Measure again; return whether the machine is slower than was supposed."""
        with self._lock:
            return self._again() > supposed * SLOWER

    def _again(self) -> float:
        self._pace, self._measured = max(1.0, self._measure() / QUIET), time.monotonic()
        return self._pace
