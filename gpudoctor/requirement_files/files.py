"""Opens the files: regular ones of bounded size, as text."""

from __future__ import annotations

import codecs
from typing import Any

from gpudoctor.errors import UsageError
from gpudoctor.regular_files import file_beginning, pipe_beginning

_MAX_BYTES = 32 << 20
"""Bytes of a lock file; the largest real ones have about 5 MB."""
PATIENCE_SECONDS = 120.0
"""Seconds for a program whose output is read through a pipe; uv resolves a large project in less without a cache."""
PIP_NOTICE, PIP_NOTICE_REASON = r"(?:\[notice\]|WARNING:|DEPRECATION:|You should consider upgrading)", "pip says it beside its list"
"""How the lines begin that pip writes beside a list, and why they are no packages."""
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def text_of_file(file: str, why: str = "", largest: int = _MAX_BYTES, *, patience: float = 0.0) -> str:
    """The text of a file, or with `patience` of a pipe; PowerShell writes UTF-16. Raises UsageError if it cannot be read."""
    told = f" ({why})" if why else ""
    try:
        content = pipe_beginning(file, largest + 1, patience) if patience else file_beginning(file, largest + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name contains a null character"
        raise UsageError(f"{file}{told} cannot be read: {reason}; name a file that lists requirements.") from None
    if len(content) > largest:
        raise UsageError(f"{file}{told} is larger than {largest / (1 << 20):.3g} MiB; name a file that lists requirements.")
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UsageError(f"{file}{told} is not a text file; name a file that lists requirements.") from None


class LineFinder:
    """Finds the line of a text that a parser took something from without saying where."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._reached, self._line = 0, 1

    def of(self, needle: str) -> int:
        """The next line with `needle` after the last one found, else the first in the text; 0 if there is none."""
        place = self._text.find(needle, self._reached)
        if place < 0:
            self._reached, self._line = 0, 1
            place = self._text.find(needle)
        if place < 0:
            return 0
        self._line += self._text.count("\n", self._reached, place)
        self._reached = place
        return self._line


def nested_table(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The table below these keys; empty if there is none."""
    found: object = document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def extras_text(one: dict[str, Any]) -> str:
    """The extras that a table lists, as a requirement has them; empty if there are none."""
    listed = strings_of_list(one.get("extras"))
    return f"[{','.join(listed)}]" if listed else ""


def origin_words(one: dict[str, Any]) -> str:
    """Where a table takes its package from that has no version, in words."""
    return next((kind for kind in ("git", "path", "url", "file", "workspace") if kind in one), "another source")


def strings_of_list(value: object) -> list[str]:
    """The strings of a list; empty for anything else."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def tables_of_list(value: object) -> list[dict[str, Any]]:
    """The tables of a list; empty for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
