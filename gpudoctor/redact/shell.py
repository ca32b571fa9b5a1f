"""Makes a redacted command one that a shell still reads correctly."""

from __future__ import annotations

import re

from gpudoctor.redact.pseudonyms import KINDS

_LONGEST = 1 << 16
"""Characters; nobody pastes a longer command."""
_HOME, _USER = '"$HOME"', '"$USER"'
_QUOTED_HOME = r"'~/(?=[^']*')"
_HOME_ITSELF = r"'~'"
_BARE_HOME = r"(?<![\w/.~$\"'-])~(?=/|$|[\s:;\"])"
_WITHIN_QUOTES = r"'([^'~]*/)~(/[^'~]*)'"
_WITHIN = r"(?<=/)~(?=/|$|[\s:;])"
_PLACEHOLDER = rf"<({KINDS})(-\d{{1,9}})?>"


def runnable(command: str) -> str:
    """`command` with the home folder as "$HOME", a user's name in a path as "$USER", and other removed names as placeholders."""
    if "~" in command and len(command) <= _LONGEST:
        command = re.sub(_HOME_ITSELF, _HOME, re.sub(_QUOTED_HOME, f"{_HOME}/'", command))
        command = re.sub(_BARE_HOME, _HOME, command)
        command = re.sub(_WITHIN, _USER, re.sub(_WITHIN_QUOTES, rf"'\1'{_USER}'\2'", command))
    return (
        re.sub(_PLACEHOLDER, lambda match: f"{match[1]}{match[2] or ''}".upper().replace("-", ""), command) if "<" in command else command
    )
