"""A folder for what frameworks and compilers write during training. It is removed at the end, or by the next run if this one is killed."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

if sys.platform != "win32":  # see gpudoctor/process/confinement.py
    import fcntl

_FOLDER_PREFIX = "gpudoctor-"
_LOCK_NAME = ".in-use"
"""A file that is locked while the folder is in use. A pid would not do: /tmp may be shared with containers that count their own."""
_INNER_FOLDER = "files"
_PATIENCE_SECONDS = 1.0
"""Seconds until everything a killed child started is gone too and writes no more."""


@contextmanager
def scratch_folder() -> Iterator[dict[str, str]]:
    """A variable that names the folder; no variable where none can be made, because a machine without room for it may still train.

    A signal may interrupt this anywhere, once. So a name is chosen before anything has it, which neither mkdtemp nor gettempdir does, whose
    file that tries a folder may stay; and a removal that was cut short is done again.
    """
    name = f"{_FOLDER_PREFIX}{os.urandom(8).hex()}"
    folders = [os.path.join(place, name) for place in _temporary_folders()]
    with ExitStack() as locks:
        try:
            try:
                _remove_abandoned()
                yield _make_first(folders, locks)
            finally:
                _remove_folders(folders)
        finally:
            _remove_folders(folders)


def _temporary_folders() -> list[str]:
    """Return where temporary files may be, in the order of Python's tempfile, but not the current directory."""
    named = (os.environ.get(variable) for variable in ("TMPDIR", "TEMP", "TMP"))
    usual = ("/tmp", "/var/tmp")  # noqa: S108 -- the name in it cannot be guessed, and mkdir follows no link
    return list(dict.fromkeys(os.path.abspath(place) for place in (*named, *usual) if place))


def _make_first(folders: Sequence[str], locks: ExitStack) -> dict[str, str]:
    """Make the first folder that can be made, and lock it."""
    for folder in folders:
        with suppress(OSError):
            inside = os.path.join(folder, _INNER_FOLDER)
            os.mkdir(folder, 0o700)
            os.mkdir(inside, 0o700)
            locks.callback(os.close, _create_lock(folder))
            return {"TMPDIR": inside}
    return {}


def _create_lock(folder: str) -> int:
    """Return the open lock, which appears in the folder only when it is held."""
    place = os.path.join(folder, _LOCK_NAME)
    lock = os.open(f"{place}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(f"{place}.new", place)
    return lock


def _remove_folders(folders: Sequence[str]) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while (left := [folder for folder in folders if os.path.exists(folder)]) and time.monotonic() < until:
        for folder in left:
            _remove_now(folder)


def _remove_now(folder: str) -> None:
    """Remove as much of a folder as can be removed now, its lock last: only with the lock does the next run know it as ours."""
    inside = os.path.join(folder, _INNER_FOLDER)
    shutil.rmtree(inside, ignore_errors=True)
    if not os.path.lexists(inside):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove what earlier runs of this user left that were killed."""
    for place in _temporary_folders():
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith(_FOLDER_PREFIX) and _is_abandoned(entry):
                    _remove_now(entry.path)


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        lock = os.open(os.path.join(entry.path, _LOCK_NAME), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
