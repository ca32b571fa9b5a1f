"""Finds out whether a script of ours broke in a child: that is a defect of gpudoctor and says nothing about the machine."""

from __future__ import annotations

import os
import re

import msgspec

from gpudoctor.process.child import End, Outcome

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FRAME = r'(?m)^ *File "([^"\n]{1,4096})", line (\d{1,9})'
"""As Python's traceback module writes the place of an error."""
_END, _LONGEST = 1 << 16, 300
"""Characters of standard error that are looked through, and of an error that are kept."""


class _Said(msgspec.Struct):
    type: str = ""
    event: str = ""
    reason: str = ""


def crash(outcome: Outcome) -> str:
    """What broke in our script and where; empty where it did not, or ended as it was to.

    A script says so itself in its last line; one that broke before it could speak left a traceback that ends in our code.
    """
    if outcome.end is not End.EXITED or not outcome.code:
        return ""
    said = _last(outcome.lines)
    if "crashed" in {said.type, said.event}:
        return said.reason or "it did not say what"
    if outcome.lines or outcome.mark:
        return ""
    frames = re.findall(_FRAME, outcome.stderr[-_END:])
    words = outcome.stderr.strip().rpartition("\n")[2]
    if not frames or not frames[-1][0].startswith(f"{PACKAGE}/") or words.startswith(("ImportError", "ModuleNotFoundError", "MemoryError")):
        return ""
    return f"{words[:_LONGEST]} in {os.path.relpath(frames[-1][0], PACKAGE)}, line {frames[-1][1]}"


def _last(lines: tuple[bytes, ...]) -> _Said:
    try:
        return msgspec.json.decode(lines[-1], type=_Said) if lines else _Said()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Said()
