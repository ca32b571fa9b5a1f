"""How wide text may be."""

from __future__ import annotations

import os

READABLE_COLUMNS = 100
"""Columns that text fills at most on a wider terminal."""
_MIN_COLUMNS = 40
_MAX_DIGITS = 4
"""Digits of a width that is believed; Python refuses to read thousands of them."""


def requested_width() -> int | None:
    """Return the width that COLUMNS asks for, at least 40; None if it is unset or no width."""
    columns = os.environ.get("COLUMNS", "")
    believed = columns.isascii() and columns.isdigit() and len(columns) <= _MAX_DIGITS
    return max(int(columns), _MIN_COLUMNS) if believed and int(columns) else None


def terminal_width(descriptor: int) -> int:
    """Return the width of the terminal behind a descriptor; COLUMNS overrides it, and without either it is 80."""
    try:
        return requested_width() or os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80
