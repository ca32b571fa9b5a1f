"""Keeps what is known of each node outside the memory: a row for each, its newest report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from gpudoctor.findings import Severity, Verdict
from gpudoctor.findings.summary import GpuModel, Summary
from gpudoctor.fleet.places import membership_test, place_bits, places_in_set
from gpudoctor.fleet.received_reports import NodeReport
from gpudoctor.report.fleet import NodeFinding, Nodes, Unread
from gpudoctor.report.hostlist import folded_hostlist, natural_sort_key
from gpudoctor.report.lazy_sequence import LazySequence
from gpudoctor.report.model import Finding
from gpudoctor.struct_store import StructStore

NO_REPORT = "no-report"
NOT_KNOWN = "GPUs not known"
_KNOWN_VERDICTS = frozenset(verdict.value for verdict in Verdict)
_MAX_SORTED: Final = 1000
"""Names that are sorted in memory; of more, all names are read in their order."""
GpuModels = tuple[str, ...]


class NodeRow(msgspec.Struct, kw_only=True):
    """One report, or the silence of one node."""

    name: str
    source: str
    verdict: str
    place: int = 0
    """How many came before it."""
    created: str = ""
    exit_code: int | None = None
    reason: str = ""
    tool: str = ""
    summary: Summary = Summary()
    findings: tuple[NodeFinding, ...] = ()

    @property
    def models(self) -> GpuModels:
        """The models of its GPUs, which say with which nodes it is compared: one whose GPUs are not known is no node without a GPU."""
        return (NOT_KNOWN,) if self.summary.gpus is None else tuple(sorted({model.model for model in self.gpus}))

    @property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Its GPUs by model."""
        return self.summary.gpus or ()


class Roster:
    """The rows of a fleet. No row comes after `settle`."""

    def __init__(self) -> None:
        self._rows, self._unread = StructStore(NodeRow), StructStore(Unread)
        self._next = 0
        self.everyone = 0
        """All nodes; the places of reports for which there is a newer one are missing."""

    def report(self, name: str, source: str, sent: NodeReport) -> NodeRow | None:
        """Add a report and return its row; None if a newer one of the same node is there."""
        row = NodeRow(
            name=name,
            source=source,
            verdict=sent.verdict if sent.verdict in _KNOWN_VERDICTS else Verdict.UNKNOWN.value,
            created=sent.created,
            exit_code=sent.exit_code,
            tool=sent.tool.version,
            summary=sent.summary,
            findings=tuple(NodeFinding(finding.id, finding.name, finding.severity) for finding in sent.findings if is_root_cause(finding)),
        )
        return row if self._enter(row) else None

    def silent(self, name: str, source: str, reason: str) -> None:
        """Add a node that sent no report, unless it has one."""
        self._enter(NodeRow(name=name, source=source, verdict=NO_REPORT, reason=reason))

    def unread(self, one: Unread) -> None:
        """Add an input that is not used."""
        self._unread.add(len(self._unread), one)

    def settle(self) -> None:
        """Note which reports count."""
        self.everyone = place_bits(self._rows.numbers())

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[NodeRow]:
        return iter(self._rows)

    def in_order(self) -> Iterator[NodeRow]:
        """Yield the rows in the order of the names."""
        return self._rows.in_order()

    @property
    def not_used(self) -> LazySequence[Unread]:
        """The inputs that are not used."""
        return LazySequence(len(self._unread), lambda: iter(self._unread))

    def rows(self, some: int) -> Iterator[NodeRow]:
        """Yield the rows of a set of nodes."""
        has = membership_test(some)
        return (row for row in self if has(row.place))

    def counts(self, place: int) -> bool:
        """Return whether no newer report of the same node replaced the one at a place."""
        return bool(self.everyone >> place & 1)

    def row(self, place: int) -> NodeRow:
        """Return the row at a place."""
        return self._rows.at(place)

    def nodes(self, some: int) -> Nodes:
        """Return a set of nodes with its hostlist."""
        names = LazySequence(some.bit_count(), lambda: self._names(some))
        return Nodes(len(names), folded_hostlist(names), names)

    def _names(self, some: int) -> Iterator[str]:
        """Yield names in their order."""
        if some.bit_count() <= _MAX_SORTED:
            return iter(sorted((self._rows.at(place).name for place in places_in_set(some)), key=natural_sort_key))
        has = membership_test(some)
        return (name for place, name in self._rows.names() if has(place))

    def _enter(self, row: NodeRow) -> bool:
        row.place, key = self._next, natural_sort_key(row.name)
        if not self._rows.add(row.place, row, key=key, name=row.name):
            before = self._rows.get(key)
            older, newer = sorted((before, row), key=lambda node: node.created)
            if not older.reason:
                self._note_duplicate(older, newer)
            if newer is not row:
                return False
            self._rows.remove(before.place)
            self._rows.add(row.place, row, key=key, name=row.name)
        self._next += 1
        return True

    def _note_duplicate(self, older: NodeRow, newer: NodeRow) -> None:
        which = "another report of the same time" if newer.created == older.created else f"the newer report of {newer.created}"
        reason = f"{older.name}: {which} is used ({newer.source or 'no file'})"
        self.unread(Unread(source=older.source, kind="duplicate", reason=reason, node=older.name))


def is_root_cause(finding: Finding) -> bool:
    """Return whether a finding is a root cause that counts."""
    return not finding.because_of and finding.severity != Severity.NOTE.value
