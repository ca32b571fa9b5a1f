"""Groups the findings of all nodes: one line for each code, with the nodes, the exceptions and what was seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from operator import or_

import msgspec

from gpudoctor.findings import Impact, Severity, SubjectKind
from gpudoctor.fleet.places import PlaceSet
from gpudoctor.fleet.roster import Roster
from gpudoctor.report.fleet import FindingGroup, NodeFinding, Nodes, Wording
from gpudoctor.report.model import Finding

_GPU_MENTION = re.compile(r"\bGPUs? \d+(?:[–,] ?\d+)*(?: \([0-9a-f:.]+\))?|\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\b")  # noqa: RUF001 -- typography
"""A GPU as messages name it; the same defect of another GPU is the same wording."""
_MAX_WORDINGS = 200
"""Wordings of one finding that are told apart."""
_OTHER_MESSAGES = "other messages"
_MAX_GPUS = 128
"""GPUs of one node that are counted; reports made to repeat a finding must not fill the memory."""


class _FindingNodes(msgspec.Struct):
    first: Finding
    severities: set[str]
    wordings: dict[str, tuple[str, list[PlaceSet]]]
    """The first message, and the nodes that have it once, twice, …"""
    root: bool = False
    of_gpus: bool = False


class FleetFindings:
    """The findings of the reports added so far, by code."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bool], _FindingNodes] = {}
        self._titles: dict[str, str] = {}
        self._slowing: set[str] = set()

    def add(self, place: int, found: Iterable[Finding]) -> None:
        """Add the findings of one report."""
        times: Counter[tuple[tuple[str, bool], str]] = Counter()
        for finding in found:
            key = (finding.code, not finding.because_of)
            self._titles.setdefault(finding.code, finding.title)
            if finding.impact == Impact.SLOWER.value:
                self._slowing.add(finding.code)
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _FindingNodes(finding, set(), {}, root=not finding.because_of)
            group.severities.add(finding.severity)
            group.of_gpus |= finding.subject.kind == SubjectKind.GPU.value
            wording = _GPU_MENTION.sub("GPU", finding.message)
            if wording not in group.wordings and len(group.wordings) >= _MAX_WORDINGS:
                wording = _OTHER_MESSAGES
            _, having = group.wordings.setdefault(wording, (finding.message, []))
            before = times[key, wording]
            if before < _MAX_GPUS:
                times[key, wording] += 1
                having += [PlaceSet()] if before == len(having) else []
                having[before].add(place)

    def explaining_finding(self, findings: Iterable[NodeFinding], address: str) -> tuple[str, str] | None:
        """Return the id and title of what makes a GPU slow on a node with these findings; None if nothing does."""
        of_gpu = [finding for finding in findings if address and finding.id.endswith(f":{address}")]
        slowing = [finding for finding in findings if finding.id.partition(":")[0] in self._slowing and ":0" not in finding.id]
        found = next(iter((*of_gpu, *slowing)), None)
        return None if found is None else (found.id, self._titles.get(found.id.partition(":")[0], found.name))

    def groups(self, roster: Roster, everyone: int) -> tuple[FindingGroup, ...]:
        """Return a group for each code; `everyone` are the nodes that sent a report."""
        made = [made for group in self._groups.values() if (made := _finished_group(group, roster, everyone)).nodes.count]
        return tuple(sorted(made, key=lambda group: (not group.root, -_severity_rank(group.severity), -group.nodes.count, group.code)))


def _finished_group(group: _FindingNodes, roster: Roster, everyone: int) -> FindingGroup:
    places = [(message, [times.as_set() & roster.everyone for times in having]) for message, having in group.wordings.values()]
    told = [Wording(message, roster.nodes(once)) for message, (once, *_) in places if once]
    having = reduce(or_, (once for _, (once, *_) in places))
    lead = group.first
    first = lead.fixes[0] if lead.fixes else None
    return FindingGroup(
        code=lead.code,
        name=lead.name,
        severity=max(group.severities, key=_severity_rank),
        title=lead.title,
        root=group.root,
        nodes=roster.nodes(having),
        gpus=sum(times.bit_count() for _, of in places for times in of) if group.of_gpus else 0,
        exceptions=roster.nodes(everyone & ~having) if 2 * having.bit_count() > everyone.bit_count() else Nodes(),
        wordings=tuple(sorted(told, key=lambda wording: -wording.nodes.count)),
        fix=first.title if first else "",
        command=first.command if first else "",
        fix_kind=first.kind if first else "",
        url=lead.url,
    )


def _severity_rank(severity: str) -> int:
    """Return a number that is higher for the more severe; a word of a newer version is a note."""
    order = [one.value for one in Severity]
    return order.index(severity) if severity in order else -1
