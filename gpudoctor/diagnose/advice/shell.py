"""Paths quoted for a shell, and commands about them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from gpudoctor.derive.libraries import LIBRARY_PATH


def shell_path(path: str) -> str:
    """Return a path quoted for a shell; a redacted home folder or user name becomes a variable that the shell expands."""
    parts = path.split("/")
    if parts[0] == "~":
        return "/".join(filter(None, ('"$HOME"', shell_path("/".join(parts[1:])) if parts[1:] else "")))
    if "~" not in parts:
        return shlex.quote(path) if path else ""
    return "/".join('"$USER"' if part == "~" else shlex.quote(part) if part else "" for part in parts)


def prepend_library_path(*folders: str) -> str:
    """Return the command that puts folders first in LD_LIBRARY_PATH."""
    return f'export {LIBRARY_PATH}={_joined_path(folders)}"${{{LIBRARY_PATH}:+:${LIBRARY_PATH}}}"'


def set_library_path(folders: Iterable[str]) -> str:
    """Return the command that leaves only these folders in LD_LIBRARY_PATH."""
    left = _joined_path(folders)
    return f"export {LIBRARY_PATH}={left}" if left else f"unset {LIBRARY_PATH}"


def _joined_path(folders: Iterable[str]) -> str:
    return ":".join(map(shell_path, folders))


def hide_library(path: str) -> str:
    """Return the command that hides a library from the loader.

    ldconfig reads every file named lib*.so* and links its soname to it (ldconfig(8)), so another ending would not hide it.
    """
    folder, _, name = path.rpartition("/")
    return f"sudo mv {shell_path(path)} {shell_path(f'{folder}/disabled-{name}')} && sudo ldconfig"


def removal_command(paths: Iterable[str]) -> str:
    """Return the command that removes libraries with all their versions, because ldconfig links the soname to any that is left."""
    stems = dict.fromkeys(path[: path.rindex(".so")] for path in paths)
    return f"sudo rm {' '.join(f'{shell_path(stem)}.so*' for stem in stems)} && sudo ldconfig"
