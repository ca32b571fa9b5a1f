"""One diagnosis for many machines: what their reports say together. Pure; reports come in one by one and are not kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from gpudoctor.changes import matcher
from gpudoctor.errors import UsageError
from gpudoctor.findings import Verdict
from gpudoctor.fleet.compared import Group
from gpudoctor.fleet.drift import drifts
from gpudoctor.fleet.figures import figures
from gpudoctor.fleet.findings import Findings
from gpudoctor.fleet.outliers import Samples
from gpudoctor.fleet.require import Condition, checked
from gpudoctor.fleet.roster import NO_REPORT, Roster, Row, is_cause
from gpudoctor.fleet.sent import NoReportError, Sent, sent
from gpudoctor.fleet.slow import compared
from gpudoctor.fleet.verdict import WORST, decide, is_usable
from gpudoctor.matrix import Matrix
from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Count, Drift, Fleet, Hardware, Node, ToolVersion, Unread
from gpudoctor.report.hostlist import natural, nodes
from gpudoctor.snapshot import Snapshot

__all__ = ["Asked", "Merge"]

_GROUPS = 200
"""Hardware groups that are compared within themselves; reports made to differ must not fill the memory."""
_LOST = frozenset({"broken", "too-large"})
"""Kinds of inputs that may have been reports."""
Models = tuple[str, ...]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked of a fleet."""

    strict: bool = False
    """Whether warnings count as failures: --fail-on warning."""
    require: tuple[Condition, ...] = ()
    ignore: tuple[str, ...] = ()
    """Patterns of the fields that are not compared."""
    golden: tuple[str, Snapshot] | None = None
    """The name of the reference and what was seen there; None: nodes are compared with the majority."""


Cause = tuple[str, str, str]
"""Code, name and severity."""
Witness = Callable[[str, str, Sequence[Cause]], None]


def _nobody(_node: str, _created: str, _causes: Sequence[Cause]) -> None:
    """Nobody wants to know."""


class Merge:
    """The reports of a fleet so far."""

    def __init__(self, asked: Asked, matrix: Matrix, witness: Witness = _nobody) -> None:
        """`witness` is told the node, time and root causes of each report, also of those that are not the newest."""
        self._asked, self._matrix, self._witness = asked, matrix, witness
        self._roster, self._findings, self._samples = Roster(), Findings(), Samples()
        self._groups: dict[Models, Group] = {}

    def add(self, data: bytes, *, source: str, node: str = "", stem: str = "") -> None:
        """Add what a node sent. Its name is `node`, or the host name in the report, or the `stem` of the file that it was in."""
        try:
            report = sent(data)
        except NoReportError as error:
            self.unread(Unread(source=source, kind=error.kind, reason=error.reason, node=node or stem))
            return
        name = node or report.host or stem or source
        self._witness(name, report.created, [(one.code, one.name, one.severity) for one in report.findings if is_cause(one)])
        row = self._roster.report(name, source, report)
        if row is not None:
            self._take(row, report)

    def silent(self, node: str, reason: str) -> None:
        """Add a node that sent no report."""
        self._roster.silent(node, "", reason)

    def unread(self, one: Unread) -> None:
        """Add an input without a report in it. A node that sent nothing else has no report."""
        self._roster.unread.append(one)
        if one.node and one.kind != "not-a-report":
            self._roster.silent(one.node, one.source, one.reason)

    def finish(self) -> Fleet:
        """Return what all reports say. Raises UsageError if there are none."""
        rows = sorted((row for _, row in self._roster.current()), key=lambda row: natural(row.name))
        if not rows and not self._roster.unread:
            raise UsageError("No report was found; name the files that `gpudoctor check --format json -o FILE` wrote, or their folder.")
        hardware = _hardware(rows)
        drifting = self._drifts({models: group.name for models, group in hardware.items()})
        measured, slow = compared(self._samples.results(), self._roster, self._findings)
        suspect = _suspect(drifting) | {one.node for one in slow}
        usable = [row for row in rows if is_usable(row, strict=self._asked.strict, suspect=suspect)]
        requirements = checked(self._asked.require, usable)
        enough = any(one.met and condition.counts_nodes for one, condition in zip(requirements, self._asked.require, strict=True))
        lost = sum(not one.node and one.kind in _LOST for one in self._roster.unread)
        decision = decide(rows, suspect, requirements, lost, strict=self._asked.strict, enough=enough)
        taken = frozenset(row.name for row in usable)
        return Fleet(
            tool=TOOL,
            created=max((row.created for row in rows), default=""),
            verdict=decision.verdict,
            because=decision.because,
            exit_code=decision.exit_code,
            golden=self._asked.golden[0] if self._asked.golden else "",
            reports=sum(row.verdict != NO_REPORT for row in rows),
            verdicts=tuple(Count(word, nodes(of)) for word in WORST if (of := [row.name for row in rows if row.verdict == word])),
            hardware=tuple(hardware.values()),
            requirements=requirements,
            findings=self._findings.groups(self._roster),
            drifts=drifting,
            figures=measured,
            outliers=slow,
            tools=_tools(rows),
            unread=tuple(self._roster.unread),
            usable=nodes(taken),
            unusable=nodes(row.name for row in rows if row.name not in taken),
            nodes=_nodes(rows, hardware, taken, drifting, Counter(one.node for one in slow)),
        )

    def _take(self, row: int, report: Sent) -> None:
        models = self._roster.rows[row].models
        self._findings.add(row, report.findings)
        self._samples.add(row, figures(report.snapshot, ", ".join(models)))
        if models not in self._groups and len(self._groups) < _GROUPS:
            self._groups[models] = Group(self._asked.golden[1] if self._asked.golden else None)
        if models in self._groups:
            self._groups[models].add(row, report.snapshot, in_order=report.verdict == Verdict.READY.value)

    def _drifts(self, names: Mapping[Models, str]) -> tuple[Drift, ...]:
        ignored, golden = matcher(self._asked.ignore), self._asked.golden is not None
        found = [
            one
            for models, group in self._groups.items()
            for one in drifts(group, names.get(models, ""), self._roster, self._matrix, ignored, golden=golden)
        ]
        return tuple(sorted(found, key=lambda one: not one.read_by_rules))


def _suspect(drifting: Collection[Drift]) -> frozenset[str]:
    """Return the nodes that differ from the majority in what rules read."""
    counted = (one for one in drifting if one.read_by_rules and not one.split)
    return frozenset(name for one in counted for deviation in one.deviations for name in deviation.nodes.names)


def _tools(rows: list[Row]) -> tuple[ToolVersion, ...]:
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict != NO_REPORT:
            names.setdefault(row.tool, []).append(row.name)
    return tuple(sorted((ToolVersion(version, nodes(of)) for version, of in names.items()), key=lambda one: -one.nodes.count))


def _nodes(
    rows: list[Row], hardware: Mapping[Models, Hardware], usable: Collection[str], drifting: Collection[Drift], outliers: Mapping[str, int]
) -> tuple[Node, ...]:
    places: dict[str, list[int]] = {}
    for place, drift in enumerate(drifting):
        for name in {name for deviation in drift.deviations for name in deviation.nodes.names}:
            places.setdefault(name, []).append(place)
    return tuple(
        Node(
            name=row.name,
            verdict=row.verdict,
            exit_code=row.exit_code,
            usable=row.name in usable,
            hardware=hardware[row.models].name if row.verdict != NO_REPORT else "",
            created=row.created,
            source=row.source,
            reason=row.reason,
            findings=row.findings,
            drifts=tuple(places.get(row.name, ())),
            outliers=outliers.get(row.name, 0),
        )
        for row in rows
    )


def _hardware(rows: list[Row]) -> dict[Models, Hardware]:
    """Return the hardware groups by the models of their GPUs, the largest first."""
    groups: dict[Models, list[Row]] = {}
    for row in rows:
        if row.verdict != NO_REPORT:
            groups.setdefault(row.models, []).append(row)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        models: Hardware(_named(of), nodes(row.name for row in of), sum(one.count for row in of for one in row.gpus))
        for models, of in ordered
    }


def _named(rows: list[Row]) -> str:
    """Return the GPUs that most of the nodes have."""
    (gpus, _), *_ = Counter(row.gpus for row in rows).most_common()
    if gpus:
        return ", ".join(f"{one.count} × {one.model or 'GPU of unknown model'}" for one in gpus)  # noqa: RUF001 -- typography
    return "no GPU" if rows[0].summary.gpus == () else "GPUs not known"
