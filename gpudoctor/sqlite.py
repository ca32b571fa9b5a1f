"""SQLite, or one sentence where this Python was built without it."""

from __future__ import annotations

from gpudoctor.errors import UsageError

try:
    import sqlite3
except ModuleNotFoundError:
    raise UsageError("This Python was built without SQLite, which this command needs; run gpudoctor with another Python.") from None

__all__ = ["sqlite3"]
