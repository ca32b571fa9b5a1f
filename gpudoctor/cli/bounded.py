"""Bounds a document for a reader who takes in all of it, by leaving out what matters least."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.report.document import RulesDocument, encode
from gpudoctor.report.model import Report
from gpudoctor.snapshot import Snapshot

LARGEST = 48 << 10
"""Bytes; an agent pays for each. A report on eight GPUs has 110 KiB: 75 of the snapshot, 26 of rules that passed, 2 of findings."""
_LEAST = (("snapshot", "the snapshot"), ("recognised", "what was recognised in the text"), ("passed", "the rules that passed"),
          ("timings", "timings"), ("could_not_tell", "the rules that could not be checked"))  # fmt: skip
"""The fields of a report that can go, the first one first, in words."""
_SERIES = {Report: ("findings", "findings"), RulesDocument: ("rules", "pages")}
"""What is cut at its end if that is not enough: the field, in words."""


def bounded(document: msgspec.Struct) -> tuple[str, ...]:
    """Return a document as JSON of at most LARGEST bytes, which its schema still accepts; then a sentence that says what was left out, if anything.

    Raises UsageError for a document that has nothing to leave out.
    """
    left_out = []
    for field, words in _LEAST if isinstance(document, Report) else ():
        if getattr(document, field) and _size(document) > LARGEST:
            document = msgspec.structs.replace(document, **{field: _nothing(document, field)})
            left_out.append(words)
    field, words = _SERIES.get(type(document), ("", ""))
    series = getattr(document, field, ())
    kept = len(series)
    while _size(document) > LARGEST and kept > 1:
        kept //= 2
        document = msgspec.structs.replace(document, **{field: series[:kept]})
    if kept < len(series):
        left_out.append(f"all but the first {kept} of {len(series)} {words}")
    if _size(document) > LARGEST:
        raise UsageError(f"The answer is longer than {LARGEST >> 10} KiB; run the command itself with --format json.")
    written = encode(document, indent=-1).decode()
    return (written, f"Left out, to stay under {LARGEST >> 10} KiB: {', '.join(left_out)}.") if left_out else (written,)


def _nothing(document: msgspec.Struct, field: str) -> Any:
    """Return the empty value of a report's field."""
    value = getattr(document, field)
    if isinstance(value, Snapshot):
        return Snapshot(created=value.created, origin=value.origin)
    return () if isinstance(value, tuple) else None


def _size(document: msgspec.Struct) -> int:
    return len(encode(document, indent=-1))
