"""Refuses operating systems that a command cannot examine."""

from __future__ import annotations

import sys

from gpudoctor.errors import UsageError

_OTHER_SYSTEMS = {
    "win32": "native Windows; run it in WSL 2, where it examines the same GPU",
    "cygwin": "native Windows; run it in WSL 2, where it examines the same GPU",
    "darwin": "macOS, which has no CUDA",
}


def require_linux(command: str) -> None:
    """Raise UsageError, with what works instead, if `command` cannot examine this operating system."""
    system: str = sys.platform  # to a type checker it is the one it runs on
    if system.startswith("linux"):
        return
    here = _OTHER_SYSTEMS.get(system, system)
    raise UsageError(f"`gpudoctor {command}` runs on Linux and WSL 2, not on {here}; `gpudoctor compat` works on every system.")
