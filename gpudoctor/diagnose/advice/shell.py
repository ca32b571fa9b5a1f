"""Paths as a shell reads them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def shell_path(path: str) -> str:
    """A path as a shell reads it; a redacted home folder or user name is spelt so that the shell fills it in."""
    parts = path.split("/")
    if parts[0] == "~":
        return "/".join(filter(None, ('"$HOME"', shell_path("/".join(parts[1:])) if parts[1:] else "")))
    if "~" not in parts:
        return shlex.quote(path) if path else ""
    return "/".join('"$USER"' if part == "~" else shlex.quote(part) if part else "" for part in parts)


def shell_list(folders: Iterable[str]) -> str:
    """Folders, separated by colons, as a shell reads them."""
    return ":".join(map(shell_path, folders))
