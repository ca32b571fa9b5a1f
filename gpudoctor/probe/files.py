"""Reads small files of /proc, /sys and site-packages defensively: bounded, never blocking, and with a reason on failure."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

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


def missing(path: str, error: OSError) -> Missing:
    """Why `path` could not be read."""
    return Missing(_CAUSES.get(error.errno or 0, Cause.FAILED), f"{readable(path)}: {error.strerror or error}")


def under(root: str, path: str) -> str:
    """The absolute `path` within the tree `root`."""
    return root.rstrip("/") + path


def read(path: str, limit: int = LIMIT) -> str | Missing:
    """The text of a file; undecodable bytes are escaped."""
    kept = content(path, limit)
    return kept if isinstance(kept, Missing) else kept.decode("utf-8", "backslashreplace")


def content(path: str, limit: int = LIMIT) -> bytes | Missing:
    """The first bytes of a file."""
    return _or_missing(regular_files.beginning, path, limit)


def end(path: str, limit: int) -> bytes | Missing:
    """The last bytes of a file."""
    return _or_missing(regular_files.ending, path, limit)


def _or_missing(read: Callable[[str, int], bytes], path: str, limit: int) -> bytes | Missing:
    try:
        return read(path, limit)
    except OSError as error:
        return missing(path, error)
    except ValueError as error:
        return Missing(Cause.FAILED, f"{readable(path)!r}: {error}")


def names(path: str) -> list[str] | Missing:
    """The sorted content of a folder; names as os.fsdecode gives them."""
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return missing(path, error)
    except ValueError as error:
        return Missing(Cause.FAILED, f"{readable(path)!r}: {error}")


def entries(path: str) -> list[str]:
    """The same; none where it cannot be read."""
    found = names(path)
    return [] if isinstance(found, Missing) else found


def lines(path: str, limit: int = LIMIT) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    text = read(path, limit)
    return [] if isinstance(text, Missing) else text.splitlines()


def word(path: str, limit: int = 256) -> str | Missing:
    """The text of a file that has one line."""
    text = read(path, limit)
    return text if isinstance(text, Missing) else text.strip() or Missing(Cause.FAILED, f"{path} is empty")


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
