"""Bounds a document for a reader who takes in all of it, by leaving out what matters least."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.report.document import RulesDocument, encode_document
from gpudoctor.report.model import Report
from gpudoctor.snapshot import Snapshot

MAX_BYTES = 48 << 10
"""Bytes; an agent pays for each. A report on eight GPUs has 110 KiB: 75 of the snapshot, 26 of rules that passed, 2 of findings."""
_OMITTED_FIRST = (("snapshot", "the snapshot"), ("recognised", "what was recognised in the text"), ("passed", "the rules that passed"),
          ("timings", "timings"), ("could_not_tell", "the rules that could not be checked"))  # fmt: skip
"""The fields of a report that can go, the first one first, in words."""
_SERIES_FIELDS = {Report: ("findings", "findings"), RulesDocument: ("rules", "pages")}
"""What is cut at its end if that is not enough: the field, in words."""


def bounded_document(document: msgspec.Struct) -> tuple[str, ...]:
    """Return a document as JSON of at most LARGEST bytes, which its schema still accepts; then a sentence that says what was left out, if anything.

    Raises UsageError for a document that has nothing to leave out.
    """
    left_out = []
    for field, words in _OMITTED_FIRST if isinstance(document, Report) else ():
        if getattr(document, field) and _document_bytes(document) > MAX_BYTES:
            document = msgspec.structs.replace(document, **{field: _empty_value(document, field)})
            left_out.append(words)
    field, words = _SERIES_FIELDS.get(type(document), ("", ""))
    series = getattr(document, field, ())
    kept = len(series)
    while _document_bytes(document) > MAX_BYTES and kept > 1:
        kept //= 2
        document = msgspec.structs.replace(document, **{field: series[:kept]})
    if kept < len(series):
        left_out.append(f"all but the first {kept} of {len(series)} {words}")
    if _document_bytes(document) > MAX_BYTES:
        raise UsageError(f"The answer is longer than {MAX_BYTES >> 10} KiB; run the command itself with --format json.")
    written = encode_document(document, indent=-1).decode()
    return (written, f"Left out, to stay under {MAX_BYTES >> 10} KiB: {', '.join(left_out)}.") if left_out else (written,)


def _empty_value(document: msgspec.Struct, field: str) -> Any:
    """Return the empty value of a report's field."""
    value = getattr(document, field)
    if isinstance(value, Snapshot):
        return Snapshot(created=value.created, origin=value.origin)
    return () if isinstance(value, tuple) else None


def _document_bytes(document: msgspec.Struct) -> int:
    return len(encode_document(document, indent=-1))
