"""One diagnosis for many machines: what their reports say together. Pure; reports come in one by one and are not kept."""

from __future__ import annotations

from collections import Counter

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fleet.findings import Findings
from gpudoctor.fleet.hostlist import natural, nodes
from gpudoctor.fleet.roster import NO_REPORT, Roster, Row
from gpudoctor.fleet.sent import NoReportError, sent
from gpudoctor.fleet.verdict import WORST, decide, is_usable
from gpudoctor.matrix import Matrix
from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Count, Fleet, Hardware, Node, Requirement, Unread

__all__ = ["Asked", "Merge"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked of a fleet."""

    strict: bool = False
    """Whether warnings count as failures: --fail-on warning."""


class Merge:
    """The reports of a fleet so far."""

    def __init__(self, asked: Asked, matrix: Matrix) -> None:
        self._asked, self._matrix = asked, matrix
        self._roster, self._findings = Roster(), Findings()

    def add(self, data: bytes, *, source: str, node: str = "", stem: str = "") -> None:
        """Add what a node sent. Its name is `node`, or the host name in the report, or the `stem` of the file that it was in."""
        try:
            report = sent(data)
        except NoReportError as error:
            self.unread(Unread(source=source, kind=error.kind, reason=error.reason, node=node or stem))
            return
        row = self._roster.report(node or report.host or stem or source, source, report)
        if row is not None:
            self._findings.add(row, report.findings)

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
            raise UsageError(
                "There is no report to merge; name the files that `gpudoctor check --format json -o FILE` wrote, or their folder."
            )
        suspect: frozenset[str] = frozenset()
        strict = self._asked.strict
        usable = frozenset(row.name for row in rows if is_usable(row, strict=strict, suspect=suspect))
        requirements: tuple[Requirement, ...] = ()
        decision = decide(rows, suspect, requirements, strict=strict)
        hardware = _hardware(rows)
        return Fleet(
            tool=TOOL,
            created=max((row.created for row in rows), default=""),
            verdict=decision.verdict,
            because=decision.because,
            exit_code=decision.exit_code,
            reports=sum(row.verdict != NO_REPORT for row in rows),
            verdicts=tuple(Count(word, nodes(of)) for word in WORST if (of := [row.name for row in rows if row.verdict == word])),
            hardware=tuple(hardware.values()),
            requirements=requirements,
            findings=self._findings.groups(self._roster),
            unread=tuple(self._roster.unread),
            usable=nodes(usable),
            unusable=nodes(row.name for row in rows if row.name not in usable),
            nodes=tuple(_node(row, hardware, usable=row.name in usable) for row in rows),
        )


def _node(row: Row, hardware: dict[tuple[str, ...], Hardware], *, usable: bool) -> Node:
    return Node(
        name=row.name,
        verdict=row.verdict,
        exit_code=row.exit_code,
        usable=usable,
        hardware=hardware[row.models].name if row.verdict != NO_REPORT else "",
        created=row.created,
        source=row.source,
        reason=row.reason,
        findings=row.findings,
    )


def _hardware(rows: list[Row]) -> dict[tuple[str, ...], Hardware]:
    """Return the hardware groups by the models of their GPUs, the largest first."""
    groups: dict[tuple[str, ...], list[Row]] = {}
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
