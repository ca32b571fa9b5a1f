"""What a ticket shows, worked out once for both templates."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from gpudoctor.findings.wording import count_with_noun
from gpudoctor.redact.pseudonyms import RemovedKind
from gpudoctor.report import gpus, groups, not_checked, stages, summary
from gpudoctor.report.details import recognition_lines
from gpudoctor.report.fixes import FixStep, fix_steps
from gpudoctor.report.headline import headline_of_report
from gpudoctor.report.model import Evidence, Finding, Report
from gpudoctor.report.ticket import curves, facts, versions
from gpudoctor.report.words import Mark, capitalised

_REMOVED_WORDS = {
    RemovedKind.SECRET: "secret",
    RemovedKind.CREDENTIALS: "login in a URL",
    RemovedKind.HOME: "home folder",
    RemovedKind.USER: "user name",
    RemovedKind.HOST: "host name",
    RemovedKind.ADDRESS: "IP address",
    RemovedKind.MAC: "MAC address",
    RemovedKind.MAIL: "e-mail address",
    RemovedKind.UUID: "UUID",
    RemovedKind.SERIAL: "serial number",
}
_PLURAL_WORDS = {
    RemovedKind.CREDENTIALS: "logins in URLs",
    RemovedKind.ADDRESS: "IP addresses",
    RemovedKind.MAC: "MAC addresses",
    RemovedKind.MAIL: "e-mail addresses",
}


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
    trainings: list[curves.CurvePanel]
    loads: list[curves.CurvePanel]
    removed: str
    """What was redacted."""
    report: Report


def ticket_view(report: Report, removed: Mapping[RemovedKind, int]) -> TicketView:
    """Return what a ticket shows of `report`, from which `removed` values of each kind were removed."""
    top = headline_of_report(report)
    return TicketView(
        mark=top.mark,
        verdict=report.verdict,
        scope=top.scope,
        headline=(top.text or capitalised(report.proved_to.text)).rstrip("."),
        about=summary.summary_parts(report.summary),
        causes=[_ticket_cause(report, group) for group in groups.grouped_causes(report)],
        notes=[_ticket_cause(report, group) for group in groups.grouped_notes(report)],
        explained=[(finding, gpus.subject_names(report, (finding,))) for finding in report.findings if finding.because_of],
        stages=stages.stage_table(report),
        versions=versions.version_rows(report),
        unchecked=[
            *(
                (reason, ", ".join(dict.fromkeys(f"{item.code} {item.name}" for item in items)))
                for reason, items in not_checked.items_by_reason(report)
            ),
            *((not_judged.reason, not_judged.what) for not_judged in report.not_judged),
        ],
        passed=len(report.passed),
        remarks=(
            *report.snapshot.remarks,
            *(f"{skipped.code} {skipped.name} skipped: {skipped.reason or 'no reason given'}" for skipped in report.skipped),
        ),
        readings=recognition_lines(report.recognised),
        facts=facts.fact_sections(report.snapshot),
        trainings=curves.training_panels(report.snapshot),
        loads=curves.load_panels(report.snapshot),
        removed=removal_text(removed),
        report=report,
    )


def footer_parts(view: TicketView) -> list[str]:
    """Return how a ticket ends: what was examined, by what, and what was removed."""
    report = view.report
    examined = report.examined
    return [
        *([f"Examined {examined.python} ({examined.why})"] if examined.python else []),
        f"{count_with_noun(view.passed, 'check')} passed",
        f"gpudoctor {report.tool.version}, tables of {report.matrix.date}, {report.created}",
        *([f"Command: {shlex.join(report.argv)}"] if report.argv else []),
        f"Redacted: {view.removed}",
    ]


def removal_text(removed: Mapping[RemovedKind, int]) -> str:
    """Return how many values of each kind were removed, in words: 1 user name, 2 IP addresses."""
    parts = [
        f"{count} {_PLURAL_WORDS[kind]}" if count > 1 and kind in _PLURAL_WORDS else count_with_noun(count, _REMOVED_WORDS[kind])
        for kind, count in removed.items()
    ]
    return ", ".join(parts) or "nothing"


def _ticket_cause(report: Report, group: groups.GroupedFinding) -> TicketCause:
    first = group.first
    return TicketCause(
        code=first.code,
        name=first.name,
        url=first.url,
        title=first.title,
        severity=first.severity,
        aside=", ".join(filter(None, (gpus.subject_names(report, group.findings), first.doubt))),
        message=groups.group_message(report, group),
        steps=tuple(fix_steps(group)),
        evidence=tuple(dict.fromkeys(seen for finding in group.findings for seen in finding.evidence)),
    )
