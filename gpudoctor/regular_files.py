"""Reads files that others wrote: opened without blocking, refused unless regular, and never more than a number of bytes.

A pipe that the user names is read too, until a deadline.
"""

from __future__ import annotations

import errno
import functools
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

if sys.platform != "win32":
    import fcntl

READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
"""Flags for opening; a named pipe or a terminal in a file's place must not block. Windows has only the last one."""
_SHELL_DESCRIPTORS = range(10)
"""The descriptors that a shell's redirections name."""


def file_beginning(path: str, limit: int) -> bytes:
    """Return the first `limit` bytes of a file. Raises OSError, also for what is no regular file, and ValueError for a path with a NUL."""
    with _opened_file(path) as descriptor:
        return _read_bytes(descriptor, limit)


def pipe_beginning(path: str, limit: int, patience: float) -> bytes:
    """Return the first `limit` bytes of a file, or of a pipe such as a shell's <(command).

    Raises what `file_beginning` does, and OSError if a pipe does not end within `patience` seconds.
    """
    with _opened_file(path, pipes=True) as descriptor:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return _read_bytes(descriptor, limit)
        return _read_bytes(descriptor, limit, functools.partial(_wait_for_data, descriptor, time.monotonic() + patience))


def refuse_own_pipe(descriptor: int) -> None:
    """Raise OSError for a pipe that this process could write to, such as its own output: it would wait for itself."""
    found = os.fstat(descriptor)
    if stat.S_ISFIFO(found.st_mode) and any(map(functools.partial(_is_writing_to, found), _SHELL_DESCRIPTORS)):
        raise OSError(errno.EDEADLK, "It is a pipe that gpudoctor itself would write to")


def _is_writing_to(pipe: os.stat_result, descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        same = os.path.samestat(pipe, os.fstat(descriptor))
        return same and bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR))
    except OSError:  # it is closed
        return False


def file_ending(path: str, limit: int) -> bytes:
    """Return the last `limit` bytes of a file. Raises as `file_beginning` does."""
    with _opened_file(path) as descriptor:
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - limit), os.SEEK_SET)
        return _read_bytes(descriptor, limit)


@contextmanager
def _opened_file(path: str, *, pipes: bool = False) -> Iterator[int]:
    descriptor = os.open(path, READ_FLAGS)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not (stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode))):
            raise OSError(errno.EINVAL, "Not a regular file")
        refuse_own_pipe(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_bytes(descriptor: int, limit: int, ready: Callable[[], None] = lambda: None) -> bytes:
    pieces, left = [], limit
    while left > 0:
        ready()
        if not (piece := os.read(descriptor, min(left, 1 << 20))):
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _wait_for_data(descriptor: int, until: float) -> None:
    """Wait until a pipe has something to read or ends. Raises OSError when the time is over."""
    if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
        raise OSError(errno.ETIMEDOUT, "The program that writes to it does not end")
