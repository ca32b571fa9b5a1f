"""Tells by their first bytes what a file's contents are, and takes the reports out of them."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, cast

import msgspec

from gpudoctor.report_files.decompression import UnpackError, gzip_stream, zstd_stream
from gpudoctor.report_files.documents import json_documents
from gpudoctor.report_files.read_budget import MAX_DOCUMENT_BYTES, CountedStream, ReadBudget
from gpudoctor.report_files.report_input import ReportInput, input_of_data, unfollowed_input, unreadable_input

_MAX_DEPTH = 3
"""Packed within packed: a tar of .json.gz files in a .zst has three levels."""
_TAR_MAGIC_RANGE, _TAR_HEAD_BYTES = slice(257, 262), 512
_MAX_METADATA_BYTES = 1 << 20
"""Bytes of a tar's long names and attributes, which tarfile reads as a whole."""


def reports_in(stream: BinaryIO, source: str, file: str, budget: ReadBudget, depth: int = 0) -> Iterator[ReportInput]:
    """Yield the reports in a stream, however it is packed."""
    counted = CountedStream(stream, budget)
    try:
        yield from _reports_in_content(counted, source, file, budget, depth)
    except (OSError, EOFError, zlib.error, tarfile.TarError, UnpackError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        yield unreadable_input(source, file, f"it cannot be unpacked to its end: {reason}")


def _reports_in_content(counted: CountedStream, source: str, file: str, budget: ReadBudget, depth: int) -> Iterator[ReportInput]:
    head = counted.peek(_TAR_HEAD_BYTES)
    packed = head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or head[_TAR_MAGIC_RANGE] == b"ustar"
    if packed and depth == _MAX_DEPTH:
        yield unreadable_input(source, file, "it is packed too deeply")
    elif head.startswith(b"\x1f\x8b"):
        yield from reports_in(gzip_stream(cast("BinaryIO", counted)), source, file, budget, depth + 1)
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        yield from reports_in(zstd_stream(cast("BinaryIO", counted)), source, file, budget, depth + 1)
    elif packed:
        yield from _reports_in_tar(counted, source, budget, depth + 1)
    else:
        yield from _reports_in_text(counted, source, file)


class _TarMember(tarfile.TarInfo):
    """A member of a tar; one with huge metadata ends the reading."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _TarMember:
        """Return the member that a header describes."""
        made = super().frombuf(buf, encoding, errors)
        if not made.isreg() and made.size > _MAX_METADATA_BYTES:
            raise tarfile.ReadError(f"a name or attribute has more than {_MAX_METADATA_BYTES >> 20} MiB")
        return made


def _reports_in_tar(counted: CountedStream, source: str, budget: ReadBudget, depth: int) -> Iterator[ReportInput]:
    """Yield the reports in the regular files of a tar; nothing is written to disk."""
    with tarfile.open(fileobj=counted, mode="r|", tarinfo=_TarMember) as archive:
        while (member := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # it would keep all of them
            place = f"{source}: {member.name}"
            opened = archive.extractfile(member) if member.isreg() else None
            if opened is not None:
                yield from reports_in(cast("BinaryIO", opened), place, member.name, budget, depth)
            elif not member.isdir():
                yield unfollowed_input(place, member.name)


def _reports_in_text(counted: CountedStream, source: str, file: str) -> Iterator[ReportInput]:
    """Yield each JSON document of a text: a report alone, one a line, or several one after another."""
    found = json_documents(counted)
    _, first = next(found, (1, b""))
    second = next(found, None)
    if second is None:
        yield _input_of_document(first, source, file)
        return
    for line, data in chain(((1, first), second), found):
        yield msgspec.structs.replace(_input_of_document(data, f"{source}, line {line}", file), stem="")  # of different nodes


def _input_of_document(data: bytes | None, source: str, file: str) -> ReportInput:
    if data is None:
        return unreadable_input(source, file, f"it has more than {MAX_DOCUMENT_BYTES >> 20} MiB", "too-large")
    return input_of_data(data, source, file)
