"""Turns a pasted text into plain lines: decodes it, and removes colour, control characters and quotation marks."""

from __future__ import annotations

import re
from collections import Counter

from gpudoctor.errors import UsageError
from gpudoctor.read.statements import Line

LARGEST = 20 << 20
"""Bytes of a text."""
_LONGEST = 4000
"""Characters of a line that are read."""
_ALIKE = 160
"""Lines that differ only in numbers and are read: more than a machine has NVLinks, fewer than a training run has steps."""
_NUMBER = re.compile(r"\d+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[ -/]?[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_TYPOGRAPHIC = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "}
"""What editors and web pages make of quotation marks and spaces."""
_QUOTED = re.compile(r"^(?:\s{0,8}>){1,4} ?")


def lines_of(data: bytes, name: str) -> list[Line]:
    """Return the lines of a text that are not empty; of many that differ only in numbers, the first. Raises UsageError if it is too large to be a pasted text."""
    if len(data) > LARGEST:
        raise UsageError(
            f"{name} has {len(data) >> 20} MB and gpudoctor reads up to {LARGEST >> 20} MB; cut out the part around the error."
        )
    plain = ((number, _plain(line)) for number, line in enumerate(_decoded(data).splitlines(), 1))
    alike: Counter[str] = Counter()
    lines = []
    for number, text in plain:
        shape = _NUMBER.sub("0", text).strip()
        alike[shape] += 1
        if shape and alike[shape] <= _ALIKE:
            lines.append(Line(number, text))
    return lines


def _decoded(data: bytes) -> str:
    """Return the text, by its byte order mark if it has one: Windows tools write UTF-16."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return data.decode("utf-8", "replace")


def _plain(line: str) -> str:
    line = _INVISIBLE.sub("", _COLOUR.sub("", line[:_LONGEST])).translate(_TYPOGRAPHIC)
    return _QUOTED.sub("", line).rstrip()
