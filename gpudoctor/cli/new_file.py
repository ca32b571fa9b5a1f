"""Files that appear whole, at once and with mode 0600. Until then they have no name where the file system allows it, so a kill leaves nothing."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress

_UNFINISHED_NAME = re.compile(r"\.gpudoctor-[0-9a-f]{16}")
_ABANDONED_SECONDS = 3600.0
"""Seconds without a write after which an unfinished file belongs to a run that was killed."""
_SAFE_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening a file; Windows has only the last one."""


def replace_file(file: str, write: Callable[[int], None]) -> None:
    """Have `write` fill a new file and rename it to `file`: readers see the old one or the new one; links are not followed."""
    folder, beside = _folder_and_name(file)
    descriptor, named = _create_file(folder, beside)
    try:
        try:
            write(descriptor)
            os.fsync(descriptor)
            if not named and not _has_linked(descriptor, file):  # a new file has its name in one step: a kill could come between two
                _name_file(descriptor, beside)
                named = True
        finally:
            os.close(descriptor)
        if named:
            os.replace(beside, file)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _remove_abandoned(folder, os.lstat(file).st_mtime)


def try_to_create(file: str) -> None:
    """Raise OSError if no file can be created in the folder of `file`."""
    folder, beside = _folder_and_name(file)
    descriptor, named = _create_file(folder, beside)
    os.close(descriptor)
    if named:
        os.unlink(beside)
    elif os.stat(folder).st_nlink == 0:  # tmpfs opens a nameless file in a folder that was removed, and cannot name it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _folder_and_name(file: str) -> tuple[str, str]:
    """Return the folder of a file, and a name in it for a file to write first."""
    folder = os.path.dirname(file)
    return folder or ".", os.path.join(folder, f".gpudoctor-{os.urandom(8).hex()}")


def _create_file(folder: str, beside: str) -> tuple[int, bool]:
    """Return a new file of the folder, open for reading and writing, and whether it has a name yet."""
    try:
        descriptor, named = os.open(folder, os.O_RDWR | _SAFE_FLAGS | os.O_TMPFILE, 0o600), False
    except (AttributeError, OSError):  # other systems and some network file systems have no nameless files
        descriptor, named = _create_named(beside), True
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)  # whatever the umask
    return descriptor, named


def _create_named(beside: str) -> int:
    return os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE_FLAGS, 0o600)


def _has_linked(descriptor: int, name: str) -> bool:
    """Return whether a nameless file could be given a name; not one that is taken, and not without /proc."""
    try:
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=descriptor)  # with a folder, Python follows the link to the file
    except OSError:
        return False
    return True


def _name_file(descriptor: int, beside: str) -> None:
    """Give a nameless file a name, or its content to a new file where that is impossible."""
    if _has_linked(descriptor, beside):
        return
    copy, done = _create_named(beside), 0
    try:
        while sent := os.sendfile(copy, descriptor, done, 1 << 30):
            done += sent
        os.fsync(copy)
    finally:
        os.close(copy)


def _remove_abandoned(folder: str, now: float) -> None:
    """Remove the unfinished files that earlier runs left; `now` is by the clock of the file system."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED_NAME.fullmatch(entry.name):
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_mtime < now - _ABANDONED_SECONDS:
                    os.unlink(entry.path)
