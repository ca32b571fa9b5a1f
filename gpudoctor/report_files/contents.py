"""Tells by their first bytes what a file's contents are, and takes the reports out of them."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, cast

import msgspec

from gpudoctor.report_files.arrival import Arrival, arrived, missed, unfollowed
from gpudoctor.report_files.bounded import LARGEST, Budget, CountedStream
from gpudoctor.report_files.documents import documents
from gpudoctor.report_files.unpacked import UnpackError, gzipped, zstandard

_DEEPEST = 3
"""Packed within packed: a tar of .json.gz files in a .zst has three levels."""
_TAR_MAGIC, _TAR_HEAD = slice(257, 262), 512
_METADATA = 1 << 20
"""Bytes of a tar's long names and attributes, which tarfile reads as a whole."""


def reports_in(stream: BinaryIO, source: str, file: str, budget: Budget, depth: int = 0) -> Iterator[Arrival]:
    """Yield the reports in a stream, however it is packed."""
    counted = CountedStream(stream, budget)
    try:
        yield from _unpacked(counted, source, file, budget, depth)
    except (OSError, EOFError, zlib.error, tarfile.TarError, UnpackError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        yield missed(source, file, f"it cannot be unpacked to its end: {reason}")


def _unpacked(counted: CountedStream, source: str, file: str, budget: Budget, depth: int) -> Iterator[Arrival]:
    head = counted.peek(_TAR_HEAD)
    packed = head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or head[_TAR_MAGIC] == b"ustar"
    if packed and depth == _DEEPEST:
        yield missed(source, file, "it is packed too deeply")
    elif head.startswith(b"\x1f\x8b"):
        yield from reports_in(gzipped(cast("BinaryIO", counted)), source, file, budget, depth + 1)
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        yield from reports_in(zstandard(cast("BinaryIO", counted)), source, file, budget, depth + 1)
    elif packed:
        yield from _members(counted, source, budget, depth + 1)
    else:
        yield from _documents(counted, source, file)


class _Member(tarfile.TarInfo):
    """A member of a tar; one with huge metadata ends the reading."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        """Return the member that a header describes."""
        made = super().frombuf(buf, encoding, errors)
        if not made.isreg() and made.size > _METADATA:
            raise tarfile.ReadError(f"a name or attribute has more than {_METADATA >> 20} MiB")
        return made


def _members(counted: CountedStream, source: str, budget: Budget, depth: int) -> Iterator[Arrival]:
    """Yield the reports in the regular files of a tar; nothing is written to disk."""
    with tarfile.open(fileobj=counted, mode="r|", tarinfo=_Member) as archive:
        while (member := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # it would keep all of them
            place = f"{source}: {member.name}"
            opened = archive.extractfile(member) if member.isreg() else None
            if opened is not None:
                yield from reports_in(cast("BinaryIO", opened), place, member.name, budget, depth)
            elif not member.isdir():
                yield unfollowed(place, member.name)


def _documents(counted: CountedStream, source: str, file: str) -> Iterator[Arrival]:
    """Yield each JSON document of a text: a report alone, one a line, or several one after another."""
    found = documents(counted)
    _, first = next(found, (1, b""))
    second = next(found, None)
    if second is None:
        yield _arrival(first, source, file)
        return
    for line, data in chain(((1, first), second), found):
        yield msgspec.structs.replace(_arrival(data, f"{source}, line {line}", file), stem="")  # of different nodes


def _arrival(data: bytes | None, source: str, file: str) -> Arrival:
    if data is None:
        return missed(source, file, f"it has more than {LARGEST >> 20} MiB", "too-large")
    return arrived(data, source, file)
