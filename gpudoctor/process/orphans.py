"""Finds what children start in other process groups, out of reach of a group kill: the kernel reparents it to us."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_TICK_SECONDS = 0.002


def adopt_orphans(*, yes: bool) -> None:
    """Whether orphaned descendants become our children."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(yes))


def child_pids() -> set[int]:
    """The pids of our current children; none if the kernel keeps no list."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:
            return {int(pid) for pid in listed.read().split()}
    except OSError:
        return set()


def end_children_except(known: set[int], patience: float) -> None:
    """Kill the children not in `known`, and those that we inherit from them, for at most so many seconds."""
    give_up = time.monotonic() + patience
    while (strays := child_pids() - known) and time.monotonic() < give_up:
        for pid in strays:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_TICK_SECONDS)
