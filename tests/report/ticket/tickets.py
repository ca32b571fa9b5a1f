"""Tickets about examinations, as `gpudoctor ticket` writes them."""

from __future__ import annotations

from gpudoctor.cli.delivery import runnable_examination
from gpudoctor.examination import Examination
from gpudoctor.redact import ReportOwner, redactor_for_ticket
from gpudoctor.report import document
from gpudoctor.report.build import build_report
from gpudoctor.report.ticket import markdown, page
from tests.machines import store
from tests.machines.diagnoses import diagnosis
from tests.redact.planted import HOME, HOST, USER

ALICE = ReportOwner(homes=(HOME,), user=USER, users=(USER, "carol"), hosts=(f"{HOST}.cluster.example.org", HOST))


def of_machine(name: str) -> Examination:
    """Return the examination of a recorded machine."""
    return Examination(snapshot=store.recorded(name), diagnosis=diagnosis(name), policy=store.policy(name), matrix_date="2026-11-20")


def written(examination: Examination) -> dict[str, str]:
    """Return the ticket about `examination` in every format."""
    redactor, pseudonyms = redactor_for_ticket(ALICE, examination)
    report = build_report(runnable_examination(redactor.struct(examination)), "ticket")
    removed = pseudonyms.counts()
    return {
        "markdown": markdown.render(report, removed),
        "html": page.render(report, removed),
        "json": document.encode_document(report).decode(),
    }
