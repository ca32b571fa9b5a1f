"""A fleet for a terminal: groups of nodes, not a row for each."""

from __future__ import annotations

from gpudoctor.report.fleet import Fleet
from gpudoctor.report.page import Look, Page
from gpudoctor.report.words import VERDICTS


def render(fleet: Fleet, look: Look) -> str:
    """Return the diagnosis of a fleet as text."""
    page = Page(look)
    mark = VERDICTS[fleet.verdict]
    page.paragraph(fleet.because, f"{mark.ascii if look.plain else mark.sign} {mark.word}  ", lead_style=mark.style, hang=2)
    for one in fleet.verdicts:
        page.paragraph(one.nodes.folded, f"{one.nodes.count:>6}  {one.verdict:<10}", hang=18)
    for group in fleet.findings:
        if group.root or look.verbose:
            page.paragraph(f"{group.nodes.folded}: {group.title}", f"{group.nodes.count:>6}  {group.code}  ", hang=8)
    return page.render()
