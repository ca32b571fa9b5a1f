"""The relevant lines of a framework's log."""

from __future__ import annotations

import re

_GLOG = r"^(?:\d{4}-\d\d-\d\d [\d:.]+: )?([EFW])(?:\d{4} [\d:.]+ +\d+)? (?:[\w./]+:\d+\] )?(.+)$"
"""The C++ logs of TensorFlow and JAX, in both formats: "2025-01-31 10:00:00.123: E file.cc:1] text" and "E0000 00:00:1.2   345 file.cc:1] text"."""
_SEVERITY_ORDER = "FEW"
_HARMLESS_LINES = (
    "Note that this is expected",
    "Unable to register cu",
    "NUMA node",
    "rebuild TensorFlow with the appropriate compiler flags",
)
"""Lines that these frameworks also log on healthy machines."""
_MAX_CHARACTERS = 1 << 16
"""Characters to search, from the end."""
_MAX_LINES = 3
_MAX_LENGTH = 300


def relevant_lines(output: str) -> tuple[str, ...]:
    """Up to three lines that say what went wrong, worst first, without repeats; if none is marked as an error, the last one."""
    output = output[-_MAX_CHARACTERS:]
    marked = [match.groups() for line in output.splitlines() if (match := re.match(_GLOG, line))]
    told = [(severity, text) for severity, text in marked if not any(noise in text for noise in _HARMLESS_LINES)]
    told.sort(key=lambda one: _SEVERITY_ORDER.index(one[0]))
    unique = list(dict.fromkeys(text[:_MAX_LENGTH] for _, text in told))
    if unique:
        return tuple(unique[:_MAX_LINES])
    return tuple(line.strip()[:_MAX_LENGTH] for line in output.splitlines() if line.strip())[-1:]
