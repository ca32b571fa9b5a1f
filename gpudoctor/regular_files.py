"""Reads files that others wrote: opened without blocking, refused unless regular, and never more than a number of bytes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening; a named pipe or a terminal in a file's place must not block. Windows has only the last one."""


def beginning(path: str, limit: int) -> bytes:
    """Return the first `limit` bytes of a file. Raises OSError, also for what is no regular file, and ValueError for a path with a NUL."""
    with _opened(path) as descriptor:
        return _read(descriptor, limit)


def ending(path: str, limit: int) -> bytes:
    """Return the last `limit` bytes of a file. Raises as `beginning` does."""
    with _opened(path) as descriptor:
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - limit), os.SEEK_SET)
        return _read(descriptor, limit)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, _HOW)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int) -> bytes:
    pieces, left = [], limit
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
