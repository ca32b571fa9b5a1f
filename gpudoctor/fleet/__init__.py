"""One diagnosis for many machines: what their reports say together. Pure; reports come in one by one and are not kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

import msgspec

from gpudoctor.changes import path_matcher
from gpudoctor.errors import UsageError
from gpudoctor.findings import Verdict
from gpudoctor.fleet.census import Census
from gpudoctor.fleet.conditions import FleetCondition, checked_requirements
from gpudoctor.fleet.drift import NodeDrift, drifts_of_group
from gpudoctor.fleet.figures import figures_of_snapshot
from gpudoctor.fleet.findings import FleetFindings
from gpudoctor.fleet.node_groups import NodeGroup
from gpudoctor.fleet.outliers import FigureSamples
from gpudoctor.fleet.places import membership_test, place_bits
from gpudoctor.fleet.received_reports import NodeReport, NoReportError, parse_report
from gpudoctor.fleet.roster import NO_REPORT, GpuModels, NodeRow, Roster, is_root_cause
from gpudoctor.fleet.slow_gpus import figures_and_outliers
from gpudoctor.fleet.verdict import fleet_decision, usable_nodes
from gpudoctor.matrix import Matrix
from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Fleet, Hardware, Node, Outlier, Unread
from gpudoctor.report.lazy_sequence import LazySequence
from gpudoctor.snapshot import Snapshot

__all__ = ["FleetOptions", "Merge"]

_MAX_GROUPS = 200
"""Hardware groups that are compared within themselves; reports made to differ must not fill the memory."""
_LOST_KINDS = frozenset({"broken", "too-large"})
"""Kinds of inputs that may have been reports."""


class FleetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked of a fleet."""

    strict: bool = False
    """Whether warnings count as failures: --fail-on warning."""
    require: tuple[FleetCondition, ...] = ()
    ignore: tuple[str, ...] = ()
    """Patterns of the fields that are not compared."""
    golden: tuple[str, Snapshot] | None = None
    """The name of the reference and what was seen there; None: nodes are compared with the majority."""


RootCause = tuple[str, str, str]
"""Code, name and severity."""
CauseObserver = Callable[[str, str, Sequence[RootCause]], None]


def _ignore_causes(_node: str, _created: str, _causes: Sequence[RootCause]) -> None:
    """Nobody wants to know."""


class Merge:
    """The reports of a fleet so far."""

    def __init__(self, asked: FleetOptions, matrix: Matrix, witness: CauseObserver = _ignore_causes) -> None:
        """`witness` is told the node, time and root causes of each report, also of those that are not the newest."""
        self._asked, self._matrix, self._witness = asked, matrix, witness
        self._roster, self._findings, self._samples = Roster(), FleetFindings(), FigureSamples()
        self._groups: dict[GpuModels, NodeGroup] = {}

    def add(self, data: bytes, *, source: str, node: str = "", stem: str = "") -> None:
        """Add what a node sent. Its name is `node`, or the host name in the report, or the `stem` of the file that it was in."""
        try:
            report = parse_report(data)
        except NoReportError as error:
            if node:
                self.silent(node, error.reason)
            else:
                self.unread(Unread(source=source, kind=error.kind, reason=error.reason, node=stem))
            return
        name = node or report.host or stem or source
        self._witness(
            name, report.created, [(finding.code, finding.name, finding.severity) for finding in report.findings if is_root_cause(finding)]
        )
        row = self._roster.report(name, source, report)
        if row is not None:
            self._take(row, report)

    def silent(self, node: str, reason: str) -> None:
        """Add a node that sent no report."""
        self._roster.silent(node, "", reason)

    def unread(self, one: Unread) -> None:
        """Add an input without a report in it. A node that sent nothing else has no report."""
        self._roster.unread(one)
        if one.node and one.kind != "not-a-report":
            self._roster.silent(one.node, one.source, one.reason)

    def finish(self) -> Fleet:
        """Return what all reports say. Raises UsageError if there are none."""
        roster, asked = self._roster, self._asked
        if not len(roster) and not roster.not_used:
            raise UsageError("No report was found; name the files that `gpudoctor check --format json -o FILE` wrote, or their folder.")
        roster.settle()
        census = Census(roster)
        hardware = census.hardware()
        drifting = self._drifts({models: group.name for models, group in hardware.items()})
        results = self._samples.results()
        measured, slow = figures_and_outliers(results, roster, self._findings)
        suspect = _suspect_nodes(drifting) | place_bits(worse.place for result in results for worse in result.worse) & roster.everyone
        usable = usable_nodes(census.verdicts, strict=asked.strict, suspect=suspect)
        requirements = checked_requirements(asked.require, roster, usable)
        enough = any(requirement.met and condition.counts_nodes for requirement, condition in zip(requirements, asked.require, strict=True))
        lost = sum(not unread.node and unread.kind in _LOST_KINDS for unread in roster.not_used)
        decision = fleet_decision(census.verdicts, suspect, requirements, lost, strict=asked.strict, enough=enough)
        return Fleet(
            tool=TOOL,
            created=census.created,
            verdict=decision.verdict,
            because=decision.because,
            exit_code=decision.exit_code,
            golden=asked.golden[0] if asked.golden else "",
            reports=census.reporting.bit_count(),
            verdicts=census.counts(),
            hardware=tuple(hardware.values()),
            requirements=requirements,
            findings=self._findings.groups(roster, census.reporting),
            drifts=tuple(one.told for one in drifting),
            figures=measured,
            outliers=slow,
            tools=census.tools(),
            unread=roster.not_used,
            usable=roster.nodes(usable),
            unusable=roster.nodes(roster.everyone & ~usable),
            nodes=_nodes_with_facts(roster, hardware, usable, drifting, slow),
        )

    def _take(self, row: NodeRow, report: NodeReport) -> None:
        models = row.models
        self._findings.add(row.place, report.findings)
        self._samples.add(row.place, figures_of_snapshot(report.snapshot, ", ".join(models)))
        if models not in self._groups and len(self._groups) < _MAX_GROUPS:
            self._groups[models] = NodeGroup(self._asked.golden[1] if self._asked.golden else None)
        if models in self._groups:
            self._groups[models].add(row.place, report.snapshot, in_order=report.verdict == Verdict.READY.value)

    def _drifts(self, names: Mapping[GpuModels, str]) -> list[NodeDrift]:
        ignored, golden = path_matcher(self._asked.ignore), self._asked.golden is not None
        found = [
            drift
            for models, group in self._groups.items()
            for drift in drifts_of_group(group, names.get(models, ""), self._roster, self._matrix, ignored, golden=golden)
        ]
        return sorted(found, key=lambda drifting: not drifting.told.read_by_rules)


def _suspect_nodes(drifting: Iterable[NodeDrift]) -> int:
    """Return the nodes that differ from the majority in what rules read."""
    return reduce(or_, (one.places for one in drifting if one.told.read_by_rules and not one.told.split), 0)


def _nodes_with_facts(
    roster: Roster, hardware: Mapping[GpuModels, Hardware], usable: int, drifting: Sequence[NodeDrift], outliers: Sequence[Outlier]
) -> LazySequence[Node]:
    """Return every node with what is known of it."""
    is_usable, deviates = membership_test(usable), membership_test(reduce(or_, (one.places for one in drifting), 0))
    in_drift = [membership_test(one.places) for one in drifting]
    slow = Counter(outlier.node for outlier in outliers)

    def read() -> Iterator[Node]:
        for row in roster.in_order():
            yield Node(
                name=row.name,
                verdict=row.verdict,
                exit_code=row.exit_code,
                usable=bool(is_usable(row.place)),
                hardware=hardware[row.models].name if row.verdict != NO_REPORT else "",
                created=row.created,
                source=row.source,
                reason=row.reason,
                findings=row.findings,
                drifts=tuple(number for number, has in enumerate(in_drift) if has(row.place)) if deviates(row.place) else (),
                outliers=slow[row.name],
            )

    return LazySequence(len(roster), read)
