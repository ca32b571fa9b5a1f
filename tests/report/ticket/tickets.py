"""Tickets about examinations, as `gpudoctor ticket` writes them."""

from __future__ import annotations

from gpudoctor.cli.deliver import runnable_examination
from gpudoctor.examination import Examination
from gpudoctor.redact import Owner, for_ticket
from gpudoctor.report import document
from gpudoctor.report.build import build
from gpudoctor.report.ticket import markdown, page
from tests.machines import store
from tests.machines.diagnoses import diagnosis
from tests.redact.planted import HOME, HOST, USER

ALICE = Owner(homes=(HOME,), user=USER, users=(USER, "carol"), hosts=(f"{HOST}.cluster.example.org", HOST))


def of_machine(name: str) -> Examination:
    """Return the examination of a recorded machine."""
    return Examination(snapshot=store.recorded(name), diagnosis=diagnosis(name), policy=store.policy(name), matrix_date="2026-11-20")


def written(examination: Examination) -> dict[str, str]:
    """Return the ticket about `examination` in every format."""
    redactor, pseudonyms = for_ticket(ALICE, examination)
    report = build(runnable_examination(redactor.struct(examination)), "ticket")
    removed = pseudonyms.counts()
    return {
        "markdown": markdown.render(report, removed),
        "html": page.render(report, removed),
        "json": document.encode(report).decode(),
    }
