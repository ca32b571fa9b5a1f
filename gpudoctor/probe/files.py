"""Reads small files of /proc, /sys and site-packages defensively: bounded, never blocking, and with a reason on failure.

A path is absolute. It lies within the tree `root`, which is empty where the path is the running machine's own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TypeVar

from gpudoctor import regular_files
from gpudoctor.snapshot import Cause, Missing, printable_text

MAX_BYTES = 256 << 10
"""Bytes; the rest is not read."""

_CAUSE_BY_ERRNO = {
    errno.ENOENT: Cause.ABSENT,
    errno.ENOTDIR: Cause.ABSENT,
    errno.EACCES: Cause.DENIED,
    errno.EPERM: Cause.DENIED,
}
ReadResult = TypeVar("ReadResult")


def missing_file(path: str, error: OSError) -> Missing:
    """Why `path` could not be read."""
    return Missing(_CAUSE_BY_ERRNO.get(error.errno or 0, Cause.FAILED), f"{printable_text(path)}: {error.strerror or error}")


def path_in_tree(root: str, path: str) -> str:
    """Where the path is on the running machine."""
    return root.rstrip("/") + path


def is_live(root: str) -> bool:
    """Whether the tree is the running machine's own; then its kernel may be asked too."""
    return not root.rstrip("/")


def exists(path: str, root: str) -> bool:
    """Whether there is a file, folder or device."""
    return os.path.exists(path_in_tree(root, path))


def is_folder(path: str, root: str) -> bool:
    """Whether there is a folder."""
    return os.path.isdir(path_in_tree(root, path))


def read_text(path: str, root: str = "", limit: int = MAX_BYTES) -> str | Missing:
    """The text of a file, or why it cannot be read; undecodable bytes are escaped."""
    kept = read_bytes(path, root, limit)
    return kept if isinstance(kept, Missing) else kept.decode("utf-8", "backslashreplace")


def text_or_empty(path: str, root: str = "", limit: int = MAX_BYTES) -> str:
    """The text of a file; empty where it cannot be read."""
    kept = read_text(path, root, limit)
    return "" if isinstance(kept, Missing) else kept


def lines_or_empty(path: str, root: str = "", limit: int = MAX_BYTES) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    return text_or_empty(path, root, limit).splitlines()


def read_word(path: str, root: str = "", limit: int = 4096) -> str | Missing:
    """The text of a file that has one line."""
    kept = read_text(path, root, limit)
    return kept if isinstance(kept, Missing) else kept.strip() or Missing(Cause.FAILED, f"{path} is empty")


def read_number(path: str, root: str = "", base: int = 10) -> int | Missing:
    """The number in a file that holds one."""
    return parse_number(read_text(path, root, 4096), path, base)


def read_bytes(path: str, root: str = "", limit: int = MAX_BYTES) -> bytes | Missing:
    """The first bytes of a file, or why it cannot be read."""
    return _result_or_missing(lambda place: regular_files.file_beginning(place, limit), path_in_tree(root, path))


def read_last_bytes(path: str, root: str, limit: int) -> bytes | Missing:
    """The last bytes of a file, or why it cannot be read."""
    return _result_or_missing(lambda place: regular_files.file_ending(place, limit), path_in_tree(root, path))


def list_folder(path: str, root: str = "") -> list[str] | Missing:
    """The sorted content of a folder, as os.fsdecode gives it, or why it cannot be read."""
    return _result_or_missing(lambda place: sorted(os.listdir(place)), path_in_tree(root, path))


def entries_or_empty(path: str, root: str = "") -> list[str]:
    """The sorted content of a folder; none where it cannot be read."""
    found = list_folder(path, root)
    return [] if isinstance(found, Missing) else found


def _result_or_missing(look: Callable[[str], ReadResult], place: str) -> ReadResult | Missing:
    try:
        return look(place)
    except OSError as error:
        return missing_file(place, error)
    except ValueError as error:
        return Missing(Cause.FAILED, f"{printable_text(place)!r}: {error}")


def parse_number(text: str | Missing, where: str, base: int = 10) -> int | Missing:
    """The number that `text_or_empty`, read from `where`, spells."""
    if isinstance(text, Missing):
        return text
    digits = text.strip().lower().removeprefix("0x") if base == 16 else text.strip()
    if digits.isascii() and digits.isalnum() and len(digits) < 20:
        try:
            return int(digits, base)
        except ValueError:
            pass
    return Missing(Cause.FAILED, f"{printable_text(where)} contains {text[:40]!r}, which is not a number")
