"""One piece of input: the text of a report, or why there is none."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import printable_text

_PACKED_SUFFIXES = (".zstd", ".zst", ".gz")
_REPORT_SUFFIXES = (".ndjson", ".jsonl", ".json")
"""The suffixes of packed files and of reports."""
_UNSUPPORTED_MAGIC = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
"""Formats that are told and not unpacked, by their first bytes."""


class ReportInput(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a report. Without data, `kind` and `reason` say why."""

    source: str
    """The file, and the member or line within it."""
    data: bytes | None = None
    stem: str = ""
    """The node's name, if the file is called by it."""
    kind: str = ""
    """A word of `report.fleet.Unread`."""
    reason: str = ""


def input_of_data(data: bytes, source: str, file: str) -> ReportInput:
    """Return a document; without data if neither the name of its file nor its text says that it is a report, or if it cannot be unpacked here."""
    packed = next((name for magic, name in _UNSUPPORTED_MAGIC.items() if data.startswith(magic)), "")
    if packed:
        return unreadable_input(source, file, f"it is packed with {packed}; use gzip or zstd")
    if is_report_name(file) or b'"gpudoctor.' in data:
        return ReportInput(source=printable_text(source), data=data, stem=printable_text(report_stem(file)))
    return ReportInput(source=printable_text(source), kind="not-a-report", reason="it is no gpudoctor report")


def unreadable_input(source: str, file: str, reason: str, kind: str = "broken") -> ReportInput:
    """Return why something cannot be read; it is the report of a node if its file is called as one."""
    return ReportInput(
        source=printable_text(source), kind=kind, reason=reason, stem=printable_text(report_stem(file)) if is_report_name(file) else ""
    )


def unfollowed_input(source: str, file: str) -> ReportInput:
    """Return that a link, pipe or device is not opened."""
    kind = "broken" if is_report_name(file) else "not-a-report"
    return unreadable_input(source, file, "it is a link, a pipe or a device, which is not opened", kind)


def is_report_name(file: str) -> bool:
    """Return whether a file is called as a report is. A broken one is then the node's; a broken log is nobody's."""
    return _without_suffixes(file, _PACKED_SUFFIXES).endswith(_REPORT_SUFFIXES)


def report_stem(file: str) -> str:
    """Return a file's name without folder and suffixes: gpu001.cluster of reports/gpu001.cluster.json.gz."""
    return _without_suffixes(file.rpartition("/")[2], (*_PACKED_SUFFIXES, *_REPORT_SUFFIXES))


def _without_suffixes(file: str, suffixes: tuple[str, ...]) -> str:
    for suffix in suffixes:
        file = file.removesuffix(suffix)
    return file
