"""Makes a redacted command one that a shell still reads correctly."""

from __future__ import annotations

import re

from gpudoctor.redact.pseudonyms import KIND_NAMES

_MAX_COMMAND = 1 << 16
"""Characters; nobody pastes a longer command."""
_HOME_VARIABLE, _USER_VARIABLE = '"$HOME"', '"$USER"'
_QUOTED_HOME = r"'~/(?=[^']*')"
_HOME_ITSELF = r"'~'"
_BARE_HOME = r"(?<![\w/.~$\"'-])~(?=/|$|[\s:;\"])"
_HOME_IN_QUOTES = r"'([^'~]*/)~(/[^'~]*)'"
_HOME_IN_PATH = r"(?<=/)~(?=/|$|[\s:;])"
_PLACEHOLDER_FORM = rf"<({KIND_NAMES})(-\d{{1,9}})?>"


def runnable_command(command: str) -> str:
    """`command` with the home folder as "$HOME", a user's name in a path as "$USER", and other removed names as placeholders."""
    if "~" in command and len(command) <= _MAX_COMMAND:
        command = re.sub(_HOME_ITSELF, _HOME_VARIABLE, re.sub(_QUOTED_HOME, f"{_HOME_VARIABLE}/'", command))
        command = re.sub(_BARE_HOME, _HOME_VARIABLE, command)
        command = re.sub(_HOME_IN_PATH, _USER_VARIABLE, re.sub(_HOME_IN_QUOTES, rf"'\1'{_USER_VARIABLE}'\2'", command))
    return (
        re.sub(_PLACEHOLDER_FORM, lambda match: f"{match[1]}{match[2] or ''}".upper().replace("-", ""), command)
        if "<" in command
        else command
    )
