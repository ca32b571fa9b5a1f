"""A folder for what frameworks and compilers write during training. It is removed at the end, or by the next run if this one is killed."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform != "win32":  # see gpudoctor/process/confinement.py
    import fcntl

_PREFIX = "gpudoctor-"
_LOCK = ".in-use"
"""A file that is locked while the folder is in use. A pid would not do: /tmp may be shared with containers that count their own."""
_INSIDE = "files"
_PATIENCE = 1.0
"""Seconds until everything a killed child started is gone too and writes no more."""


@contextmanager
def scratch() -> Iterator[dict[str, str]]:
    """A variable that names the folder; no variable where none can be made, because a machine without room for it may still train."""
    _remove_abandoned()
    try:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        inside = os.path.join(folder, _INSIDE)
        os.mkdir(inside, 0o700)
        lock = _locked(folder)
    except OSError:
        yield {}
        return
    try:
        yield {"TMPDIR": inside}
    finally:
        _remove(folder)
        os.close(lock)


def _locked(folder: str) -> int:
    """Return the open lock, which appears in the folder only when it is held."""
    place = os.path.join(folder, _LOCK)
    lock = os.open(f"{place}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(f"{place}.new", place)
    return lock


def _remove(folder: str) -> None:
    until = time.monotonic() + _PATIENCE
    while os.path.exists(folder) and time.monotonic() < until:
        _remove_now(folder)


def _remove_now(folder: str) -> None:
    """Remove as much of a folder as can be removed now, its lock last: only with the lock does the next run know it as ours."""
    inside = os.path.join(folder, _INSIDE)
    shutil.rmtree(inside, ignore_errors=True)
    if not os.path.lexists(inside):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove what earlier runs of this user left that were killed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and _is_abandoned(entry):
                _remove_now(entry.path)


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        lock = os.open(os.path.join(entry.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
