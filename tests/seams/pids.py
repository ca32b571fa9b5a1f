"""Asks whether processes that a test knows by their number still run."""

from __future__ import annotations

import os
import time
from pathlib import Path


def alive(pid: int) -> bool:
    """Return whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def gone_soon(pid: int) -> bool:
    """Return whether a process has ended within 5 s."""
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False
