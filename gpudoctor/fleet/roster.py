"""Keeps what is known of each node outside the memory: a row for each, its newest report."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Final

import msgspec

from gpudoctor.findings import Severity, Verdict
from gpudoctor.findings.summary import GpuModel, Summary
from gpudoctor.fleet.places import among, each, flags
from gpudoctor.fleet.sent import Sent
from gpudoctor.report.fleet import NodeFinding, Nodes, Unread
from gpudoctor.report.hostlist import folded, natural
from gpudoctor.report.model import Finding
from gpudoctor.report.streamed import Streamed
from gpudoctor.shelf import Shelf

NO_REPORT = "no-report"
_KNOWN = frozenset(verdict.value for verdict in Verdict)
_SUPERSEDED: Final = (1 << 32) - 1
Models = tuple[str, ...]


class Row(msgspec.Struct, kw_only=True):
    """One report, or the silence of one node."""

    name: str
    source: str
    verdict: str
    number: int = 0
    """How many came before it."""
    created: str = ""
    exit_code: int | None = None
    reason: str = ""
    tool: str = ""
    summary: Summary = Summary()
    findings: tuple[NodeFinding, ...] = ()

    @property
    def models(self) -> Models:
        """The models of its GPUs, which say with which nodes it is compared."""
        return tuple(sorted({one.model for one in self.gpus}))

    @property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Its GPUs by model."""
        return self.summary.gpus or ()


class Roster:
    """The rows of a fleet. While they come in, each has a number; then each node has a place in the order of the names."""

    def __init__(self) -> None:
        self._rows, self._unread = Shelf(Row), Shelf(Unread)
        self._number = 0
        self._places = array("I")
        """By the number of the row."""
        self._text, self._ends = bytearray(), array("Q", [0])
        """All names in one text, because a str takes 50 bytes more than its characters."""

    def report(self, name: str, source: str, sent: Sent) -> Row | None:
        """Add a report and return its row; None if a newer one of the same node is there."""
        row = Row(
            name=name,
            source=source,
            verdict=sent.verdict if sent.verdict in _KNOWN else Verdict.UNKNOWN.value,
            created=sent.created,
            exit_code=sent.exit_code,
            tool=sent.tool.version,
            summary=sent.summary,
            findings=tuple(NodeFinding(one.id, one.name, one.severity) for one in sent.findings if is_cause(one)),
        )
        return row if self._enter(row) else None

    def silent(self, name: str, source: str, reason: str) -> None:
        """Add a node that sent no report, unless it has one."""
        self._enter(Row(name=name, source=source, verdict=NO_REPORT, reason=reason))

    def unread(self, one: Unread) -> None:
        """Add an input that is not used."""
        self._unread.add(f"{len(self._unread):012}", one)

    def settle(self) -> None:
        """Give each node its place. No row comes after this."""
        self._places = array("I", [_SUPERSEDED]) * self._number
        for place, row in enumerate(self._rows):
            self._places[row.number] = place
            self._text += row.name.encode()
            self._ends.append(len(self._text))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @property
    def not_used(self) -> Streamed[Unread]:
        """The inputs that are not used."""
        return Streamed(len(self._unread), lambda: iter(self._unread))

    def places(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield the place of each row that counts."""
        return (place for number in numbers if (place := self._places[number]) != _SUPERSEDED)

    def rows(self, some: int) -> Iterator[Row]:
        """Yield the rows of a set of nodes."""
        return compress(self._rows, flags(some))

    def row(self, place: int) -> Row:
        """Return the row of the node at a place."""
        return self._rows.get(natural(self.name(place)))

    def named(self, names: Iterable[str]) -> int:
        """Return the set of the nodes with these names."""
        return among(self._places[self._rows.get(natural(name)).number] for name in names)

    @property
    def everyone(self) -> int:
        """All nodes."""
        return (1 << len(self)) - 1

    def name(self, place: int) -> str:
        """Return the name of the node at a place."""
        return self._text[self._ends[place] : self._ends[place + 1]].decode()

    def nodes(self, some: int) -> Nodes:
        """Return a set of nodes with its hostlist."""
        names = Streamed(some.bit_count(), lambda: map(self.name, each(some)))
        return Nodes(len(names), folded(names), names)

    def _enter(self, row: Row) -> bool:
        row.number, key = self._number, natural(row.name)
        if not self._rows.add(key, row):
            before = self._rows.get(key)
            older, newer = sorted((before, row), key=lambda one: one.created)
            if not older.reason:
                self._told_twice(older, newer)
            if newer is not row:
                return False
            self._rows.replace(key, row)
        self._number += 1
        return True

    def _told_twice(self, older: Row, newer: Row) -> None:
        which = "another report of the same time" if newer.created == older.created else f"the newer report of {newer.created}"
        reason = f"{older.name}: {which} is used ({newer.source or 'no file'})"
        self.unread(Unread(source=older.source, kind="duplicate", reason=reason, node=older.name))


def is_cause(finding: Finding) -> bool:
    """Return whether a finding is a root cause that counts."""
    return not finding.because_of and finding.severity != Severity.NOTE.value
