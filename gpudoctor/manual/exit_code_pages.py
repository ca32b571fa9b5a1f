"""Finds exit codes: "exit-3", "exit code 3", "exit-codes"."""

from __future__ import annotations

import re

from gpudoctor.exit_meanings import EXIT_CODES
from gpudoctor.manual.answer import ManualAnswer

_EXIT_CODE = re.compile(r"(?:exit|return|status)(?:ed with)?[\s-]*(?:code|status)?\s*[:=]?\s*(\d{1,3})")
_ALL_EXIT_CODES = re.compile(r"exit[\s-]?(?:codes?|status(?:es)?)")


def explain_exit_code(text: str) -> ManualAnswer:
    """Return the exit codes that the whole of `text` asks for."""
    asked = " ".join(text.casefold().split())
    if _ALL_EXIT_CODES.fullmatch(asked):
        return ManualAnswer(codes=EXIT_CODES)
    found = _EXIT_CODE.fullmatch(asked)
    return ManualAnswer(codes=tuple(code for code in EXIT_CODES if found and int(found.group(1)) in code.codes))
