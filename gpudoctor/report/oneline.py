"""The diagnosis in one line of at most 80 bytes of ASCII, for status bars, logs and scripts."""

from __future__ import annotations

from gpudoctor.findings import Verdict
from gpudoctor.report import words
from gpudoctor.report.model import Report

LIMIT = 80
"""Bytes, without the newline."""


def render(report: Report) -> str:
    """For example "BROKEN GD101 no-gpu: no NVIDIA GPU on the PCI bus (+2)"; without a newline."""
    head, body, tail = (words.printable(part, plain=True) for part in _parts(report))
    return _fit(f"{head}{body}", LIMIT - len(tail)) + tail


def _parts(report: Report) -> tuple[str, str, str]:
    """What must stand, what may be cut, what must stand behind it."""
    verdict = report.verdict.upper()
    crashed = [item.code for item in report.could_not_tell if item.kind == "crashed"]
    tail = f" ({crashed[0]} crashed)" if crashed else ""
    if report.verdict == Verdict.UNKNOWN and report.because:
        return f"{verdict} ", words.lower_first(report.because), tail
    if not report.causes:
        return f"{verdict} ", report.proved_to.text, tail
    first, *others = report.causes
    more = f" (+{len(others)})" if others else ""
    return f"{verdict} {first.code} {first.name}: ", words.lower_first(first.title), more + tail


def _fit(text: str, limit: int) -> str:
    """`text`, cut between words where it is longer than `limit`; the rest after a very long word may be cut anywhere."""
    if len(text) <= limit:
        return text
    room = max(limit - 3, 0)
    whole = text[: room + 1].rpartition(" ")[0].rstrip(" :,;")
    return (whole if len(whole) > room // 2 else text[:room]) + "..."[:limit]
