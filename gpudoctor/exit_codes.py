"""The exit codes of a verdict, of a wrong command line and of a defect of ours; `exit_meanings` says what each means."""

from __future__ import annotations

READY, BROKEN, USAGE, UNKNOWN, CRASHED = range(5)
