"""Shared-memory files, which outlive processes that are killed before they remove them."""

from __future__ import annotations

import os
from contextlib import suppress

_DELETED_SUFFIX = " (deleted)"
"""What the kernel appends to the name of a mapped file that is gone."""


def mapped_files(group: int, prefix: str) -> set[str]:
    """The files that processes of a group have mapped and whose paths begin with `prefix`; none if that is empty."""
    found: set[str] = set()
    for name in os.listdir("/proc") if prefix else ():
        with suppress(OSError, ValueError):
            if os.getpgid(int(name)) == group:
                found |= _files_mapped_by(name, prefix)
    return found


def _files_mapped_by(process: str, prefix: str) -> set[str]:
    with open(f"/proc/{process}/maps", encoding="utf-8", errors="surrogateescape") as lines:
        paths = {line.split(None, 5)[5].rstrip("\n") for line in lines if prefix in line}
    return {path for path in paths if path.startswith(prefix) and not path.endswith(_DELETED_SUFFIX)}


def remove_files(paths: set[str]) -> None:
    """Remove the files that still exist."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
