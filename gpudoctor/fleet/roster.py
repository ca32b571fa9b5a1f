"""Keeps what is known of each node: a row for each report. The newest one counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

import msgspec

from gpudoctor.findings import Severity, Verdict
from gpudoctor.findings.summary import GpuModel, Summary
from gpudoctor.fleet.sent import Sent
from gpudoctor.report.fleet import NodeFinding, Unread
from gpudoctor.report.model import Finding

_T = TypeVar("_T")
NO_REPORT = "no-report"
_KNOWN = frozenset(verdict.value for verdict in Verdict)
_SHARED = 100_000
"""Values that are kept to be shared; reports made to differ must not fill the memory."""


class Row(msgspec.Struct, kw_only=True):
    """One report, or the silence of one node."""

    name: str
    source: str
    verdict: str
    created: str = ""
    exit_code: int | None = None
    reason: str = ""
    tool: str = ""
    summary: Summary = Summary()
    findings: tuple[NodeFinding, ...] = ()
    counts: bool = True
    """Whether it is the newest of its node."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models of its GPUs, which say with which nodes it is compared."""
        return tuple(sorted({one.model for one in self.summary.gpus or ()}))

    @property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Its GPUs by model."""
        return self.summary.gpus or ()


class Roster:
    """The rows of a fleet, in the order in which they came."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.unread: list[Unread] = []
        self._newest: dict[str, int] = {}
        self._shared: dict[object, object] = {}

    def report(self, name: str, source: str, sent: Sent) -> int | None:
        """Add a report and return the number of its row; None if a newer one of the same node is there."""
        row = Row(
            name=name,
            source=source,
            verdict=sent.verdict if sent.verdict in _KNOWN else Verdict.UNKNOWN.value,
            created=self._same(sent.created),  # to the second: many nodes are checked at the same time
            exit_code=sent.exit_code,
            tool=self._same(sent.tool.version),
            summary=self._same(sent.summary),
            findings=self._same(tuple(self._same(NodeFinding(one.id, one.name, one.severity)) for one in sent.findings if is_cause(one))),
        )
        return self._enter(row)

    def silent(self, name: str, source: str, reason: str) -> None:
        """Add a node that sent no report, unless it has one."""
        self._enter(Row(name=name, source=source, verdict=NO_REPORT, reason=reason))

    def current(self) -> Iterator[tuple[int, Row]]:
        """Yield the newest row of each node with its number."""
        return ((number, self.rows[number]) for number in self._newest.values())

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the node of each row that counts."""
        return [self.rows[row].name for row in rows if self.rows[row].counts]

    def _enter(self, row: Row) -> int | None:
        number = len(self.rows)
        before = self._newest.get(row.name)
        if before is not None:
            older, newer = sorted((self.rows[before], row), key=lambda one: one.created)
            if not older.reason:
                self._told_twice(older, newer)
            if newer is not row:
                return None
            older.counts = False
        self.rows.append(row)
        self._newest[row.name] = number
        return number

    def _told_twice(self, older: Row, newer: Row) -> None:
        said = f"a report of {newer.created} is used instead" if newer.created != older.created else "it is there twice"
        self.unread.append(
            Unread(source=older.source, kind="duplicate", reason=f"{older.name}: {said} ({newer.source or 'no file'})", node=older.name)
        )

    def _same(self, value: _T) -> _T:
        """Return the first value that equals this one: thousands of nodes share it."""
        return cast("_T", self._shared.setdefault(value, value)) if len(self._shared) < _SHARED else value


def is_cause(finding: Finding) -> bool:
    """Return whether a finding is a root cause that counts."""
    return not finding.because_of and finding.severity != Severity.NOTE.value
