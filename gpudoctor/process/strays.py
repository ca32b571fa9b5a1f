"""What children leave behind in sessions of their own, where no kill of their group reaches it: the kernel is told to hand it to us."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_TICK = 0.002


def adopt(*, yes: bool) -> None:
    """Whether orphans among our descendants become children of ours."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def children() -> set[int]:
    """Our children by now; none where the kernel keeps no list of them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:
            return {int(pid) for pid in listed.read().split()}
    except OSError:
        return set()


def end_all_but(known: set[int], patience: float) -> None:
    """End the children that are not `known`, and those that come to us thereby; for at most so many seconds."""
    give_up = time.monotonic() + patience
    while (strays := children() - known) and time.monotonic() < give_up:
        for pid in strays:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_TICK)
