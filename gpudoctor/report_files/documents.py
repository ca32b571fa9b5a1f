"""Cuts a text into JSON documents without parsing it: each begins on a line that begins with a brace."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.report_files.read_budget import MAX_DOCUMENT_BYTES, CountedStream

_CHUNK_BYTES = 1 << 20


def json_documents(text: CountedStream) -> Iterator[tuple[int, bytes | None]]:
    """Yield each document and the number of its first line; None for one that is too large.

    Other lines around them, such as what srun says, are left out; a text without any document is yielded as it is.
    """
    line, held, too_large, found = 1, b"", False, False
    while piece := text.read(_CHUNK_BYTES):
        document, *others = (held + piece).split(b"\n{")
        for other in others:
            if too_large or document.startswith(b"{"):
                yield line, _document_alone(document, too_large=too_large)
                found = True
            line += document.count(b"\n") + 1
            document, too_large = b"{" + other, False
        if too_large or len(document) > MAX_DOCUMENT_BYTES:
            too_large = True
            line += document[:-1].count(b"\n")
            document = document[-1:]
        held = document.removeprefix(b"\xef\xbb\xbf") if line == 1 else document
    if too_large or held.startswith(b"{") or not found:
        yield line, _document_alone(held, too_large=too_large)


def _document_alone(document: bytes, *, too_large: bool) -> bytes | None:
    """Return a document without the lines after it; None if it is too large."""
    if too_large or len(document) > MAX_DOCUMENT_BYTES:
        return None
    document = document.rstrip()
    if document.endswith(b"\n}"):
        return document
    end = document.find(b"\n}\n")
    if end >= 0:
        return document[: end + 2]
    first, newline, _ = document.partition(b"\n")
    return first if newline and first.rstrip().endswith(b"}") else document
