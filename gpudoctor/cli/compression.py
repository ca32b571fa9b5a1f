"""Logs that are packed, as nvidia-bug-report.log.gz is: gzip is unpacked, of another format the error names the command that unpacks it."""

from __future__ import annotations

import zlib

from gpudoctor.errors import UsageError

_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_WINDOW = 31
"""zlib's window bits for a stream with gzip's header."""
_OTHER_FORMATS = {
    b"BZh": ("bzip2", "bzcat"),
    b"\xfd7zXZ\x00": ("xz", "xzcat"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstdcat"),
    b"PK\x03\x04": ("zip", "unzip -p"),
}
"""Formats by their first bytes, with the program that writes what they hold to standard output."""


def unpacked_bytes(data: bytes, name: str, most: int) -> bytes:
    """Return what a gzip file holds, at most `most` bytes of it, and any other text as it is. Raises UsageError if it cannot be unpacked."""
    for magic, (packing, command) in _OTHER_FORMATS.items():
        if data.startswith(magic):
            raise UsageError(f"{name} is packed with {packing}; unpack it: {command} FILE | gpudoctor diagnose -")
    parts: list[bytes] = []
    while data.startswith(_GZIP_MAGIC) and most > 0:
        stream = zlib.decompressobj(_GZIP_WINDOW)
        try:
            parts.append(stream.decompress(data, most))
        except zlib.error as error:
            raise UsageError(f"{name} is a damaged gzip file ({error}); copy it again.") from None
        most -= len(parts[-1])
        data = stream.unused_data
        if not data:  # a file that was cut off still tells what it holds
            return b"".join(parts)
    return b"".join(parts) if parts else data
