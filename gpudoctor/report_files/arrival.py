"""One piece of input: the text of a report, or why there is none."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import readable

_PACKING = (".zstd", ".zst", ".gz")
_REPORT = (".ndjson", ".jsonl", ".json")
"""The suffixes of packed files and of reports."""
_PACKED = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
"""Formats that are told and not unpacked, by their first bytes."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a report. Without data, `kind` and `reason` say why."""

    source: str
    """The file, and the member or line within it."""
    data: bytes | None = None
    stem: str = ""
    """The node's name, if the file is called by it."""
    kind: str = ""
    """A word of `report.fleet.Unread`."""
    reason: str = ""


def arrived(data: bytes, source: str, file: str) -> Arrival:
    """Return a document; without data if neither the name of its file nor its text says that it is a report, or if it cannot be unpacked here."""
    packed = next((name for magic, name in _PACKED.items() if data.startswith(magic)), "")
    if packed:
        return missed(source, file, f"it is packed with {packed}; use gzip or zstd")
    if names_report(file) or b'"gpudoctor.' in data:
        return Arrival(source=readable(source), data=data, stem=readable(stem_of(file)))
    return Arrival(source=readable(source), kind="not-a-report", reason="it is no gpudoctor report")


def missed(source: str, file: str, reason: str, kind: str = "broken") -> Arrival:
    """Return why something cannot be read; it is the report of a node if its file is called as one."""
    return Arrival(source=readable(source), kind=kind, reason=reason, stem=readable(stem_of(file)) if names_report(file) else "")


def unfollowed(source: str, file: str) -> Arrival:
    """Return that a link, pipe or device is not opened."""
    kind = "broken" if names_report(file) else "not-a-report"
    return missed(source, file, "it is a link, a pipe or a device, which is not opened", kind)


def names_report(file: str) -> bool:
    """Return whether a file is called as a report is. A broken one is then the node's; a broken log is nobody's."""
    return _without(file, _PACKING).endswith(_REPORT)


def stem_of(file: str) -> str:
    """Return a file's name without folder and suffixes: gpu001.cluster of reports/gpu001.cluster.json.gz."""
    return _without(file.rpartition("/")[2], (*_PACKING, *_REPORT))


def _without(file: str, suffixes: tuple[str, ...]) -> str:
    for suffix in suffixes:
        file = file.removesuffix(suffix)
    return file
