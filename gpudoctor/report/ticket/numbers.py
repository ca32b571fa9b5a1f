"""The numbers of the smoke training, as the terminal shows them."""

from __future__ import annotations

from gpudoctor.report import training
from gpudoctor.report.model import Report
from gpudoctor.report.page import Page, PageLook


def training_lines(report: Report) -> list[str]:
    """Return the lines; none if nothing was trained."""
    if not isinstance(report.snapshot.smoke, tuple) or not report.snapshot.smoke:
        return []
    page = Page(PageLook(width=100))
    training.draw(page, report.snapshot)
    return page.render().strip("\n").splitlines()
