"""The report for a person: what is wrong and what to do about it first, then what supports that."""

from __future__ import annotations

from gpudoctor.report import causes, details, not_checked, opening, stages, supposed, training
from gpudoctor.report.model import Report
from gpudoctor.report.page import Look, Page


def render(report: Report, look: Look | None = None) -> str:
    """Return `report` as text that ends with a newline."""
    page = Page(look or Look())
    told = opening.draw(page, report)
    causes.draw(page, report, told=told)
    if report.is_supposed:
        supposed.draw(page, report)
    elif report.command == "smoke":
        training.draw(page, report.snapshot)
    elif report.verdict != "ready" or page.look.verbose:
        stages.draw(page, report)
    causes.draw_notes(page, report)
    not_checked.draw(page, report)
    details.draw(page, report)
    return page.render()
