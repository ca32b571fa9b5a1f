"""Bounds how much is read in all, whatever unpacks to however much."""

from __future__ import annotations

import io
from typing import BinaryIO, Final

MAX_DOCUMENT_BYTES: Final = 8 << 20
"""Bytes of one report. One of eight GPUs has 110 KiB."""
_MAX_TOTAL_BYTES: Final = 64 << 30
"""Bytes of all of them, unpacked: half a million reports of eight GPUs."""


class TooMuchError(Exception):
    """More was to be read than a fleet can have."""


class ReadBudget:
    """How many bytes may still be read."""

    def __init__(self, most: int = _MAX_TOTAL_BYTES) -> None:
        self._left, self._most = most, most

    def count_bytes(self, size: int) -> None:
        """Count bytes. Raises TooMuchError."""
        self._left -= size
        if self._left < 0:
            raise TooMuchError(f"the input unpacks to more than {self._most >> 30} GiB")


class CountedStream(io.RawIOBase):
    """A stream whose bytes are counted, and that can give back its beginning."""

    def __init__(self, stream: BinaryIO, budget: ReadBudget, beginning: bytes = b"") -> None:
        super().__init__()
        self._stream, self._budget, self._beginning = stream, budget, beginning

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most a mebibyte of them; none at the end."""
        wanted = min(size, 1 << 20) if size >= 0 else 1 << 20
        if self._beginning:
            piece, self._beginning = self._beginning[:wanted], self._beginning[wanted:]
            return piece
        piece = self._stream.read(wanted) or b""
        self._budget.count_bytes(len(piece))
        return piece

    def peek(self, size: int) -> bytes:
        """Return the beginning without taking it."""
        while len(self._beginning) < size and (piece := self._stream.read(size - len(self._beginning))):
            self._budget.count_bytes(len(piece))
            self._beginning += piece
        return self._beginning[:size]
