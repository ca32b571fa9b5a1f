"""The ticket as one page of HTML: no scripts, and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from gpudoctor.redact.pseudonyms import RemovedKind
from gpudoctor.report import templates
from gpudoctor.report.model import Report
from gpudoctor.report.ticket import embed
from gpudoctor.report.ticket.curves import HEIGHT, WIDTH
from gpudoctor.report.ticket.numbers import training_lines
from gpudoctor.report.ticket.view import footer_parts, ticket_view


def render(report: Report, removed: Mapping[RemovedKind, int]) -> str:
    """Return the page about `report`, from which `removed` values of each kind were removed."""
    shown = ticket_view(report, removed)
    return str(
        templates.page_template("ticket.html.jinja").render(
            view=shown,
            training=training_lines(report),
            width=WIDTH,
            height=HEIGHT,
            embedded=Markup(embed.plain_json(report)),  # noqa: S704 -- without any markup: it stays JSON in the source of the page
            footer=footer_parts(shown),
        )
    )
