"""Streams that unpack gzip and zstd."""

from __future__ import annotations

import gzip
import io
import sys
from importlib import import_module
from typing import BinaryIO, cast


class UnpackError(Exception):
    """Something is packed in a way that cannot be unpacked here."""


def gzip_stream(packed: BinaryIO) -> BinaryIO:
    """Return what a gzip stream holds."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=packed))


def zstd_stream(packed: BinaryIO) -> BinaryIO:
    """Return what a zstd stream holds. Raises UnpackError if nothing here can unpack it."""
    try:
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise UnpackError("zstd needs `pip install 'gpudoctor-cli[zstd]'`") from None
    return cast("BinaryIO", _ZstdStream(cast("BinaryIO", zstd.ZstdFile(packed)), zstd.ZstdError))


class _ZstdStream(io.RawIOBase):
    """A zstd stream whose damage is an UnpackError."""

    def __init__(self, stream: BinaryIO, damage: type[Exception]) -> None:
        super().__init__()
        self._stream, self._damage = stream, damage

    def read(self, size: int = -1, /) -> bytes:
        try:
            return self._stream.read(size)
        except self._damage as error:
            raise UnpackError(str(error)) from None
