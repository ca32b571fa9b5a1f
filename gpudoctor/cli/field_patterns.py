"""Reads the file of --ignore-file."""

from __future__ import annotations

from gpudoctor.cli.settings import text_of_file


def field_patterns(file: str | None) -> tuple[str, ...]:
    """Return the field patterns in a file: one a line, # begins a comment."""
    if file is None:
        return ()
    lines = (line.partition("#")[0].strip() for line in text_of_file(file, f"--ignore-file: {file}").splitlines())
    return tuple(line for line in lines if line)
