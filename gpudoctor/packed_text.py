"""A compressed document as lines of text that survive quotation, indentation and wrapping by a mail program."""

from __future__ import annotations

import base64
import binascii
import re
import textwrap
import zlib

BEGIN_LINE, END_LINE = "-----BEGIN GPUDOCTOR REPORT-----", "-----END GPUDOCTOR REPORT-----"
_COLUMNS = 100
_MAX_DOCUMENT_BYTES = 64 << 20
"""Bytes of a document; what would unpack to more was made to fill the memory."""
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]+")


def pack_document(document: bytes) -> str:
    """Return `document` as lines of text."""
    lines = textwrap.wrap(base64.b64encode(zlib.compress(document, 9)).decode(), _COLUMNS)
    return "\n".join((BEGIN_LINE, *lines, END_LINE))


def unpack_document(text: str) -> bytes | None:
    """Return the first packed document in `text`, None if there is none. Raises ValueError if it is damaged."""
    _, begin, rest = text.partition(BEGIN_LINE)
    packed, end, _ = rest.partition(END_LINE)
    if not begin:
        return None
    if not end:
        raise ValueError("its end is missing")
    try:
        unpacking = zlib.decompressobj()
        document = unpacking.decompress(base64.b64decode(_NOT_BASE64.sub("", packed), validate=True), _MAX_DOCUMENT_BYTES)
    except (zlib.error, binascii.Error) as error:
        raise ValueError(str(error)) from None
    if not unpacking.eof:
        raise ValueError("it is cut off, or too large")
    return document
