"""Reads the file of --ignore-file."""

from __future__ import annotations

from gpudoctor.errors import UsageError
from gpudoctor.regular_files import beginning

_LARGEST = 1 << 20


def patterns(file: str | None) -> tuple[str, ...]:
    """Return the field patterns in a file: one a line, # begins a comment."""
    if file is None:
        return ()
    try:
        text = beginning(file, _LARGEST).decode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"The file of fields to ignore, {file}, cannot be read: {why}.") from None
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)
