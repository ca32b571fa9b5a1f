"""The diagnosis in one line of at most 80 bytes of ASCII, for status bars, logs and scripts."""

from __future__ import annotations

from gpudoctor.findings import Verdict
from gpudoctor.report import gpus, groups, words
from gpudoctor.report.groups import GroupedFinding
from gpudoctor.report.headline import proven_clause, stop_signal
from gpudoctor.report.model import Report

MAX_LENGTH = 80
"""Bytes, without the newline."""


def render(report: Report) -> str:
    """Return for example "BROKEN GD103 GPU 3 0000:1f:00.0: GPU has fallen off the bus", without a newline."""
    head, body, tail = (words.printable_text(part, plain=True) for part in _line_parts(report))
    return _shortened_text(f"{head}{body}", MAX_LENGTH - len(tail)) + tail


def _line_parts(report: Report) -> tuple[str, str, str]:
    """Return what must stand, what may be cut, what must stand behind it."""
    verdict = report.verdict.upper()
    crashed = [item.code for item in report.could_not_tell if item.kind == "crashed"]
    tail = f" ({crashed[0]} crashed)" if crashed else ""
    if report.verdict == Verdict.UNKNOWN and stop_signal(report):
        return f"{verdict} ", f"stopped by {stop_signal(report)}; {report.proved_to.text}", tail
    if report.verdict == Verdict.UNKNOWN and report.because:
        return f"{verdict} ", report.because, tail
    found = groups.grouped_causes(report)
    if not found:
        return f"{verdict} ", proven_clause(report), tail
    more = f" (+{len(found) - 1})" if len(found) > 1 else ""
    return f"{verdict} {found[0].first.code} ", _finding_sentence(report, found[0]), more + tail


def _finding_sentence(report: Report, group: GroupedFinding) -> str:
    """Return a finding's title, after the GPUs that it is about."""
    title, about = group.first.title, gpus.subject_names(report, group.findings)
    if group.first.subject.kind != "gpu":
        return title
    named = about if group.others or group.first.subject.key in about else f"{about} {group.first.subject.key}"
    return f"{named}: {title}"


def _shortened_text(text: str, limit: int) -> str:
    """Return `text`, cut between words if it is longer than `limit`; the rest after a very long word may be cut anywhere."""
    if len(text) <= limit:
        return text
    room = max(limit - 3, 0)
    whole = text[: room + 1].rpartition(" ")[0].rstrip(" :,;")
    return (whole if len(whole) > room // 2 else text[:room]) + "..."[:limit]
