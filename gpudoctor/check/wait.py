"""Looks again while something may still appear by itself, as after a boot, until it has or time is up."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import msgspec

from gpudoctor.progress import Event, Progress
from gpudoctor.snapshot import Snapshot

PAUSE_SECONDS = 1.0
"""Seconds between two looks; a look takes a tenth of that."""


def look_again(
    snapshot: Snapshot, trouble: Callable[[Snapshot], str], look: Callable[[], Snapshot], until: float, progress: Progress
) -> tuple[Snapshot, float]:
    """The last look with a note on what it waited for, and the seconds that took: 0 if nothing needed waiting for.

    `trouble` names what may still appear; `until` is a time.monotonic().
    """
    gc.enable()  # a single look does without; each leaves 200 kB that refers to itself
    began, reasons, reason = time.monotonic(), [], trouble(snapshot)
    while reason and (left := until - time.monotonic()) > 0:
        if reason not in reasons:
            progress(Event("begin", f"waiting: {reason}"))
            reasons.append(reason)
        time.sleep(min(PAUSE_SECONDS, left))
        snapshot = look()
        reason = trouble(snapshot)
        progress(Event("number", "s waited", value=round(time.monotonic() - began)))
    if not reasons:
        return snapshot, 0.0
    progress(Event("end", "waiting"))
    took = time.monotonic() - began
    remark = f"waited {took:.1f} s ({', then '.join(reasons)}); {'still not ready' if reason else 'ready now'}"
    return msgspec.structs.replace(snapshot, remarks=(*snapshot.remarks, remark)), took
