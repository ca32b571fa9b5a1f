"""What a ticket shows, worked out once for both templates."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from gpudoctor.findings.naming import counted
from gpudoctor.redact.pseudonyms import Kind
from gpudoctor.report import gpus, groups, not_checked, stages, summary
from gpudoctor.report.details import readings
from gpudoctor.report.fixes import FixStep, steps
from gpudoctor.report.headline import headline
from gpudoctor.report.model import Evidence, Finding, Report
from gpudoctor.report.ticket import curves, facts, versions
from gpudoctor.report.words import Mark, upper_first

_REMOVED = {
    Kind.SECRET: "secret",
    Kind.CREDENTIALS: "login in a URL",
    Kind.HOME: "home folder",
    Kind.USER: "user name",
    Kind.HOST: "host name",
    Kind.ADDRESS: "IP address",
    Kind.MAC: "MAC address",
    Kind.MAIL: "e-mail address",
    Kind.UUID: "UUID",
    Kind.SERIAL: "serial number",
}
_MANY = {Kind.CREDENTIALS: "logins in URLs", Kind.ADDRESS: "IP addresses", Kind.MAC: "MAC addresses", Kind.MAIL: "e-mail addresses"}


class TicketCause(msgspec.Struct, frozen=True, kw_only=True):
    """A root cause or a note."""

    code: str
    name: str
    url: str
    title: str
    severity: str
    aside: str
    """What it is about, and how sure it is."""
    message: str
    steps: tuple[FixStep, ...]
    evidence: tuple[Evidence, ...]


class TicketView(msgspec.Struct, frozen=True, kw_only=True):
    """A ticket."""

    mark: Mark
    verdict: str
    scope: str
    headline: str
    about: list[str]
    causes: list[TicketCause]
    notes: list[TicketCause]
    explained: list[tuple[Finding, str]]
    """Findings that follow from the causes, and what each is about."""
    stages: stages.StageTable | None
    versions: list[versions.VersionRow]
    unchecked: list[tuple[str, str]]
    """Why, and which rules."""
    passed: int
    remarks: tuple[str, ...]
    readings: list[str]
    facts: list[facts.FactSection]
    trainings: list[curves.Panel]
    loads: list[curves.Panel]
    removed: str
    """What was redacted."""
    report: Report


def view(report: Report, removed: Mapping[Kind, int]) -> TicketView:
    """Return what a ticket shows of `report`, from which `removed` values of each kind were removed."""
    top = headline(report)
    return TicketView(
        mark=top.mark,
        verdict=report.verdict,
        scope=top.scope,
        headline=(top.text or upper_first(report.proved_to.text)).rstrip("."),
        about=summary.parts(report.summary),
        causes=[_cause(report, group) for group in groups.causes(report)],
        notes=[_cause(report, group) for group in groups.notes(report)],
        explained=[(finding, gpus.subjects(report, (finding,))) for finding in report.findings if finding.because_of],
        stages=stages.table(report),
        versions=versions.rows(report),
        unchecked=[
            *(
                (reason, ", ".join(dict.fromkeys(f"{item.code} {item.name}" for item in items)))
                for reason, items in not_checked.reasons(report)
            ),
            *((not_judged.reason, not_judged.what) for not_judged in report.not_judged),
        ],
        passed=len(report.passed),
        remarks=(
            *report.snapshot.remarks,
            *(f"{skipped.code} {skipped.name} skipped: {skipped.reason or 'no reason given'}" for skipped in report.skipped),
        ),
        readings=readings(report.recognised),
        facts=facts.sections(report.snapshot),
        trainings=curves.trainings(report.snapshot),
        loads=curves.loads(report.snapshot),
        removed=said(removed),
        report=report,
    )


def footer(view: TicketView) -> list[str]:
    """Return how a ticket ends: what was examined, by what, and what was removed."""
    report = view.report
    examined = report.examined
    return [
        *([f"Examined {examined.python} ({examined.why})"] if examined.python else []),
        f"{counted(view.passed, 'check')} passed",
        f"gpudoctor {report.tool.version}, tables of {report.matrix.date}, {report.created}",
        *([f"Command: {shlex.join(report.argv)}"] if report.argv else []),
        f"Redacted: {view.removed}",
    ]


def said(removed: Mapping[Kind, int]) -> str:
    """Return how many values of each kind were removed, in words: 1 user name, 2 IP addresses."""
    parts = [f"{count} {_MANY[kind]}" if count > 1 and kind in _MANY else counted(count, _REMOVED[kind]) for kind, count in removed.items()]
    return ", ".join(parts) or "nothing"


def _cause(report: Report, group: groups.GroupedFinding) -> TicketCause:
    first = group.first
    return TicketCause(
        code=first.code,
        name=first.name,
        url=first.url,
        title=first.title,
        severity=first.severity,
        aside=", ".join(filter(None, (gpus.subjects(report, group.findings), first.doubt))),
        message=groups.message(report, group),
        steps=tuple(steps(group)),
        evidence=tuple(dict.fromkeys(seen for finding in group.findings for seen in finding.evidence)),
    )
