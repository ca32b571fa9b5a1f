"""Paths quoted for a shell, and which commands need root."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from gpudoctor.findings import ROOT


def shell_path(path: str) -> str:
    """Return a path quoted for a shell; a redacted home folder or user name becomes a variable that the shell expands."""
    parts = path.split("/")
    if parts[0] == "~":
        return "/".join(filter(None, ('"$HOME"', shell_path("/".join(parts[1:])) if parts[1:] else "")))
    if "~" not in parts:
        return shlex.quote(path) if path else ""
    return "/".join('"$USER"' if part == "~" else shlex.quote(part) if part else "" for part in parts)


def shell_list(folders: Iterable[str]) -> str:
    """Return folders quoted for a shell, separated by colons."""
    return ":".join(map(shell_path, folders))


def root_for(command: str) -> tuple[str, ...]:
    """Return that a command needs root, if it asks for it."""
    return (ROOT,) if "sudo " in command else ()
