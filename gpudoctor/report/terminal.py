"""The report for a person: what is wrong and what to do about it first, then what supports that."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.errors import UnfinishedError
from gpudoctor.report import assumptions, causes, details, not_checked, opening, stages, training
from gpudoctor.report.model import Report
from gpudoctor.report.page import Page, PageLook


def render(report: Report, look: PageLook | None = None) -> str:
    """Return `report` as text that ends with a newline. Raises UnfinishedError where a section crashed."""
    page, crashes = Page(look or PageLook()), list[Exception]()

    def drawn(draw: Callable[..., bool | None], *parts: object, **more: object) -> bool:
        try:
            return bool(draw(page, *parts, **more))
        except Exception as crash:  # noqa: BLE001 -- a defect in one section must not hide the others
            page.heading(f"gpudoctor crashed in {draw.__module__}: {type(crash).__name__}: {crash}")
            crashes.append(crash)
            return False

    told = drawn(opening.draw, report)
    drawn(causes.draw, report, told=told)
    if report.is_assumed:
        drawn(assumptions.draw, report)
    elif report.command == "smoke":
        drawn(training.draw, report.snapshot)
    elif report.verdict != "ready" or page.look.verbose:
        drawn(stages.draw, report)
    drawn(causes.draw_notes, report)
    drawn(not_checked.draw, report)
    drawn(details.draw, report)
    if crashes:
        raise UnfinishedError(page.render(), crashes[0])
    return page.render()
