"""What is said of a crash of our own code. Imports nothing of ours: it is also the last thing that works where the rest cannot be imported."""

from __future__ import annotations

import os
import sys

_ISSUES_PAGE = "https://github.com/gpudoctor/gpudoctor/issues"

_LOADER_SIGNS = (
    "undefined symbol: ",
    "' not found (required by ",
    "cannot open shared object file",
    "file too short",
    "invalid ELF header",
)
"""What the loader says of a library, wrong or damaged, that a variable puts before the system's."""


def crash_sentence(error: Exception) -> str:
    """Return what failed and where in our code; GPUDOCTOR_DEBUG=1 also prints the traceback."""
    if os.environ.get("GPUDOCTOR_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.startswith("gpudoctor"):
            place = f" in {name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    words = " ".join(str(error).split())[:200]
    if (path := os.environ.get("LD_LIBRARY_PATH")) and isinstance(error, ImportError) and any(sign in words for sign in _LOADER_SIGNS):
        return f"gpudoctor's own Python cannot load a library: {words}. LD_LIBRARY_PATH is {path}; try again with env -u LD_LIBRARY_PATH."
    hint = f"this is a bug in gpudoctor; report it at {_ISSUES_PAGE} with the output under GPUDOCTOR_DEBUG=1"
    return f"{type(error).__name__}{place}{f': {words}' if words else ''}; {hint}."
