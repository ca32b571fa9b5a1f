"""Files of shared memory, which outlive processes that are killed before they remove them."""

from __future__ import annotations

import os
from contextlib import suppress

_DELETED = " (deleted)"
"""What the kernel writes behind the name of a mapped file that is gone."""


def mapped(group: int, prefix: str) -> set[str]:
    """The files of which the processes of a group have a part mapped, and whose paths begin with `prefix`; none where that is empty."""
    found: set[str] = set()
    for name in os.listdir("/proc") if prefix else ():
        with suppress(OSError, ValueError):
            if os.getpgid(int(name)) == group:
                found |= _mapped_by(name, prefix)
    return found


def _mapped_by(process: str, prefix: str) -> set[str]:
    with open(f"/proc/{process}/maps", encoding="utf-8", errors="surrogateescape") as lines:
        paths = {line.split(None, 5)[5].rstrip("\n") for line in lines if prefix in line}
    return {path for path in paths if path.startswith(prefix) and not path.endswith(_DELETED)}


def remove(paths: set[str]) -> None:
    """Remove what is still there of them."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
