"""Findings that ask for the same of several GPUs, as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.report import gpus
from gpudoctor.report.model import Finding, Report


class GroupedFinding(msgspec.Struct, frozen=True):
    """A finding, and those of the same rule about other GPUs that have the same fixes."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The one that speaks for all."""
        return self.findings[0]

    @property
    def others(self) -> tuple[Finding, ...]:
        """Those of other GPUs."""
        return self.findings[1:]

    def commands(self, place: int) -> list[str]:
        """Return the commands of the fix at a place, one for each GPU if they differ."""
        return list(dict.fromkeys(finding.fixes[place].command for finding in self.findings))


def grouped_causes(report: Report) -> list[GroupedFinding]:
    """Return the root causes that count, the worst first."""
    return _grouped_findings(report, report.causes)


def grouped_notes(report: Report) -> list[GroupedFinding]:
    """Return the notes that no other finding explains."""
    return _grouped_findings(report, (finding for finding in report.findings if not finding.because_of and finding not in report.causes))


def group_message(report: Report, group: GroupedFinding) -> str:
    """Return the group's text, and the other GPUs it applies to."""
    told = group.first.message
    if not group.others:
        return told
    alike = len({_without_gpu_name(report, finding, finding.message) for finding in group.findings}) == 1
    return f"{told} {'The same' if alike else 'Similarly'} on {gpus.subject_names(report, group.others)}."


def _grouped_findings(report: Report, findings: Iterable[Finding]) -> list[GroupedFinding]:
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        same = (finding.code, finding.severity, finding.confidence, *_fix_key(report, finding))
        groups.setdefault(same, []).append(finding)
    return [GroupedFinding(tuple(group)) for group in groups.values()]


def _fix_key(report: Report, finding: Finding) -> Iterator[str | tuple[str, ...]]:
    """Yield the kind, title and needs of each fix without the name of the GPU; of a finding that is not about a GPU also its message."""
    if finding.subject.kind != "gpu":
        yield finding.message
    for fix in finding.fixes:
        yield (fix.kind, _without_gpu_name(report, finding, fix.title), *fix.needs)


def _without_gpu_name(report: Report, finding: Finding, text: str) -> str:
    if finding.subject.kind != "gpu":
        return text
    address, number = finding.subject.key, gpus.gpu_index(report, finding.subject)
    names = (re.escape(address), re.escape(address.partition(":")[2]), rf"GPU {number}\b")
    return re.sub("|".join(filter(None, names)), "GPU", text)
