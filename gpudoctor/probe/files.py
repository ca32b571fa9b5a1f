"""Reads small files of /proc, /sys and site-packages defensively: bounded, never blocking, and with a reason on failure.

A path is absolute. It lies within the tree `root`, which is empty where the path is the running machine's own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TypeVar

from gpudoctor import regular_files
from gpudoctor.snapshot import Cause, Missing, readable

LIMIT = 256 << 10
"""Bytes; the rest is not read."""

_CAUSES = {
    errno.ENOENT: Cause.ABSENT,
    errno.ENOTDIR: Cause.ABSENT,
    errno.EACCES: Cause.DENIED,
    errno.EPERM: Cause.DENIED,
}
Found = TypeVar("Found")


def missing(path: str, error: OSError) -> Missing:
    """Why `path` could not be read."""
    return Missing(_CAUSES.get(error.errno or 0, Cause.FAILED), f"{readable(path)}: {error.strerror or error}")


def under(root: str, path: str) -> str:
    """Where the path is on the running machine."""
    return root.rstrip("/") + path


def is_live(root: str) -> bool:
    """Whether the tree is the running machine's own; then its kernel may be asked too."""
    return not root.rstrip("/")


def exists(path: str, root: str) -> bool:
    """Whether there is a file, folder or device."""
    return os.path.exists(under(root, path))


def is_folder(path: str, root: str) -> bool:
    """Whether there is a folder."""
    return os.path.isdir(under(root, path))


def read(path: str, root: str = "", limit: int = LIMIT) -> str | Missing:
    """The text of a file, or why it cannot be read; undecodable bytes are escaped."""
    kept = content(path, root, limit)
    return kept if isinstance(kept, Missing) else kept.decode("utf-8", "backslashreplace")


def text(path: str, root: str = "", limit: int = LIMIT) -> str:
    """The text of a file; empty where it cannot be read."""
    kept = read(path, root, limit)
    return "" if isinstance(kept, Missing) else kept


def lines(path: str, root: str = "", limit: int = LIMIT) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    return text(path, root, limit).splitlines()


def word(path: str, root: str = "", limit: int = 4096) -> str | Missing:
    """The text of a file that has one line."""
    kept = read(path, root, limit)
    return kept if isinstance(kept, Missing) else kept.strip() or Missing(Cause.FAILED, f"{path} is empty")


def number(path: str, root: str = "", base: int = 10) -> int | Missing:
    """The number in a file that holds one."""
    return whole_number(read(path, root, 4096), path, base)


def content(path: str, root: str = "", limit: int = LIMIT) -> bytes | Missing:
    """The first bytes of a file, or why it cannot be read."""
    return _or_missing(lambda place: regular_files.beginning(place, limit), under(root, path))


def end(path: str, root: str, limit: int) -> bytes | Missing:
    """The last bytes of a file, or why it cannot be read."""
    return _or_missing(lambda place: regular_files.ending(place, limit), under(root, path))


def names(path: str, root: str = "") -> list[str] | Missing:
    """The sorted content of a folder, as os.fsdecode gives it, or why it cannot be read."""
    return _or_missing(lambda place: sorted(os.listdir(place)), under(root, path))


def entries(path: str, root: str = "") -> list[str]:
    """The sorted content of a folder; none where it cannot be read."""
    found = names(path, root)
    return [] if isinstance(found, Missing) else found


def _or_missing(look: Callable[[str], Found], place: str) -> Found | Missing:
    try:
        return look(place)
    except OSError as error:
        return missing(place, error)
    except ValueError as error:
        return Missing(Cause.FAILED, f"{readable(place)!r}: {error}")


def whole_number(text: str | Missing, where: str, base: int = 10) -> int | Missing:
    """The number that `text`, read from `where`, spells."""
    if isinstance(text, Missing):
        return text
    digits = text.strip().lower().removeprefix("0x") if base == 16 else text.strip()
    if digits.isascii() and digits.isalnum() and len(digits) < 20:
        try:
            return int(digits, base)
        except ValueError:
            pass
    return Missing(Cause.FAILED, f"{readable(where)} contains {text[:40]!r}, which is not a number")
