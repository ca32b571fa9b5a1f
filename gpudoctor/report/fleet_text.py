"""A fleet for a terminal: groups of nodes, not a row for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from gpudoctor.findings import Severity
from gpudoctor.findings.wording import count_with_noun, joined_words
from gpudoctor.report.amounts import amount_text
from gpudoctor.report.fixes import LEAD_BY_KIND
from gpudoctor.report.fleet import Drift, FindingGroup, Fleet, Nodes, Outlier, Sighting
from gpudoctor.report.hostlist import folded_hostlist, nodes_of_names
from gpudoctor.report.lazy_sequence import LazySequence
from gpudoctor.report.page import Page, PageLook
from gpudoctor.report.words import SEVERITY_STYLES, VERDICT_MARKS, capitalised

_MAX_LINES = 3
"""Lines of a hostlist without -v."""
_MAX_ROWS = 12
"""Rows of a section without -v."""
_MAX_SHORT_HOSTLIST = 40
"""Characters of a hostlist that stands within a line."""
_MAX_VALUES = 3
"""Values of one fact that are named."""


def render(fleet: Fleet, look: PageLook) -> str:
    """Return the diagnosis of a fleet as text."""
    page = Page(look)
    mark = VERDICT_MARKS[fleet.verdict]
    page.paragraph(f"{capitalised(fleet.because)}.", f"{page.sign(mark)} {mark.word}  ", lead_style=mark.style, hang=2)
    page.parts(
        [f"{count_with_noun(hardware.nodes.count, 'node')} with {hardware.name}" for hardware in fleet.hardware], style="dim", indent=2
    )
    if len(fleet.tools) > 1:
        told = joined_words(f"{tool.version} on {count_with_noun(tool.nodes.count, 'node')}" for tool in fleet.tools)
        page.paragraph(f"gpudoctor {told}: compare reports of one version", style="yellow", indent=2, hang=2)
    for draw in (
        _draw_verdicts,
        _draw_requirements,
        _draw_findings,
        _draw_outliers,
        _draw_drifts,
        _draw_figures,
        _draw_links,
        _draw_history,
        _draw_unused,
        _draw_usable,
    ):
        draw(page, fleet)
    return page.render()


def _draw_verdicts(page: Page, fleet: Fleet) -> None:
    if fleet.verdicts:
        page.heading("Nodes")
    for verdict in fleet.verdicts:
        mark = VERDICT_MARKS.get(verdict.verdict)
        word = "no report" if mark is None else verdict.verdict
        if verdict.verdict == "ready":
            page.paragraph("", f"{word:<10}{verdict.nodes.count:>6}", lead_style="bold green", indent=2)
        else:
            _draw_hostlist(page, verdict.nodes, f"{word:<10}{verdict.nodes.count:>6}  ", mark.style if mark else "bold yellow")
        if mark is None:
            _draw_rows(page, _missing_report_reasons(fleet), indent=20)
    if nameless := sum(node.name == node.source for node in fleet.nodes):
        told = f"{count_with_noun(nameless, 'report')} without a node's name: run the check with --identify, or write a file for each node."
        page.paragraph(told, style="yellow", indent=2, hang=2)


def _missing_report_reasons(fleet: Fleet) -> list[str]:
    """Return why nodes sent no report; of a broken file "Not used" says it."""
    reasons: dict[str, list[str]] = {}
    for node in fleet.nodes:
        if node.reason and not node.source:
            reasons.setdefault(node.reason, []).append(node.name)
    return [f"{folded_hostlist(names)}: {reason}" for reason, names in reasons.items()]


def _draw_requirements(page: Page, fleet: Fleet) -> None:
    if fleet.requirements:
        page.heading("Required")
    for requirement in fleet.requirements:
        state = {True: "met", False: "not met", None: "not checked"}[requirement.met]
        page.paragraph(f"{requirement.text}: {state}, {requirement.reason}", indent=2, hang=2)


def _draw_findings(page: Page, fleet: Fleet) -> None:
    shown = [finding for finding in fleet.findings if page.look.verbose or (finding.root and finding.severity != Severity.NOTE.value)]
    if shown:
        page.heading("Findings")
    for group in shown:
        _draw_finding(page, group)


def _draw_finding(page: Page, group: FindingGroup) -> None:
    about = f" ({count_with_noun(group.gpus, 'GPU')})" if group.gpus else ""
    lead = f"{group.code} {group.severity}{'' if group.root else ', a consequence'}  "
    page.paragraph(
        f"{group.title}: {count_with_noun(group.nodes.count, 'node')}{about}",
        lead,
        lead_style=SEVERITY_STYLES.get(group.severity, ""),
        indent=2,
        hang=2,
    )
    _draw_hostlist(
        page, group.exceptions if group.exceptions.count else group.nodes, "all but " if group.exceptions.count else "", indent=4
    )
    most = len(group.wordings) if page.look.verbose else _MAX_VALUES
    for wording in group.wordings[:most]:
        page.paragraph(wording.message, f"{wording.nodes.count}: " if len(group.wordings) > 1 else "", indent=4, hang=2)
    if len(group.wordings) > most:
        page.paragraph(f"and {count_with_noun(len(group.wordings) - most, 'other message')} (-v shows them)", indent=4)
    if group.fix:
        title = f"{group.fix.rstrip('.')}{':' if group.command else '.'}"
        page.paragraph(title, f"{LEAD_BY_KIND.get(group.fix_kind, 'Fix')}: ", lead_style="bold", indent=4, hang=2)
        page.command(group.command, indent=8)


def _draw_outliers(page: Page, fleet: Fleet) -> None:
    if not fleet.outliers:
        return
    page.heading("Worse than their siblings")
    by_node = [list(of) for _, of in groupby(sorted(fleet.outliers, key=attrgetter("node")), key=attrgetter("node"))]
    groups: dict[tuple[str, ...], list[list[Outlier]]] = {}
    for of in by_node:
        groups.setdefault(
            tuple(sorted({fleet.figures[outlier.figure].name for outlier in of} | {of[0].cause.partition(":")[0]})), []
        ).append(of)
    for group in sorted(groups.values(), key=len, reverse=True)[: None if page.look.verbose else _MAX_ROWS]:
        every = [outlier for node in group for outlier in node]
        _draw_nodes_row(
            page,
            capitalised(_outlier_text(fleet, every)),
            [node[0].node for node in group],
            len({(outlier.node, outlier.gpu) for outlier in every if outlier.gpu}),
        )
    _draw_row_count(page, len(groups))


def _outlier_text(fleet: Fleet, every: Sequence[Outlier]) -> str:
    """Return by how much some nodes are off, and why."""
    worst = max(every, key=lambda outlier: abs(outlier.difference))
    said = f"{abs(worst.difference):.0%} {'below' if worst.difference < 0 else 'above'} the median in {fleet.figures[worst.figure].name}"
    others = len({outlier.figure for outlier in every}) - 1
    more = f" and {count_with_noun(others, 'other figure')}" if others else ""
    cause = f"; {worst.cause.partition(':')[0]}: {worst.message}" if worst.cause else ""
    return f"{'up to ' if len(every) > 1 else ''}{said}{more}{cause}"


def _draw_drifts(page: Page, fleet: Fleet) -> None:
    """Add the facts that differ; without -v not those that only nodes with findings have, which follow from these."""
    explained = {node.name for node in fleet.nodes if any(finding.severity != Severity.NOTE.value for finding in node.findings)}
    shown = [drift for drift in fleet.drifts if page.look.verbose or not _node_names(drift) <= explained]
    others = f"{fleet.golden}" if fleet.golden else "most nodes"
    for title, read in ((f"Different from {others}", True), (f"Different from {others}, and read by no rule", False)):
        told = [drift for drift in shown if drift.read_by_rules is read]
        if told:
            page.heading(title)
        for drift in told[: None if page.look.verbose else _MAX_ROWS]:
            _draw_drift(page, drift, fleet.hardware[0].name)
        _draw_row_count(page, len(told))
    if len(shown) < len(fleet.drifts):
        page.gap()
        page.paragraph(f"Left out: {count_with_noun(len(fleet.drifts) - len(shown), 'difference')} of nodes with findings; -v lists them.")


def _node_names(drift: Drift) -> set[str]:
    return {name for deviation in drift.deviations for name in deviation.nodes.names}


def _draw_drift(page: Page, drift: Drift, largest: str) -> None:
    where = f" [{drift.hardware}]" if drift.hardware != largest else ""
    if drift.split:
        sides = [f"{drift.expected or 'none'} on {count_with_noun(drift.agreeing, 'node')}"]
        sides += [
            f"{deviation.value or 'none'} on {count_with_noun(deviation.nodes.count, 'node')}"
            for deviation in drift.deviations[:_MAX_VALUES]
        ]
        page.paragraph(f"{drift.what}: no majority, {joined_words(sides)}{where}", indent=2, hang=2)
        return
    most = len(drift.deviations) if page.look.verbose else _MAX_VALUES
    for deviation in drift.deviations[:most]:
        _draw_nodes_row(page, f"{deviation.line}{where}", deviation.nodes.names, deviation.gpus)
    rest = drift.deviations[most:]
    if rest:
        names = tuple(name for deviation in rest for name in deviation.nodes.names)
        _draw_nodes_row(page, f"{drift.what}: {count_with_noun(len(rest), 'other value')}", names, 0)


def _draw_figures(page: Page, fleet: Fleet) -> None:
    if not page.look.verbose or not fleet.figures:
        return
    page.heading("Figures")
    for figure in fleet.figures:
        beyond = f", {figure.outliers} beyond {amount_text(figure.limit, figure.unit)}" if figure.outliers and figure.limit else ""
        page.paragraph(
            f"{figure.name}: {amount_text(figure.median, figure.unit)} ± {figure.spread / figure.median:.1%} of {figure.count}{beyond}",
            indent=2,
            hang=2,
        )


def _draw_links(page: Page, fleet: Fleet) -> None:
    links = fleet.links
    if links is None:
        return
    page.heading("All-reduce between nodes")
    if not links.pairs:
        page.paragraph("not run: PyTorch trained on fewer than two nodes", indent=2)
        return
    together = f"; {amount_text(links.rate, 'B/s')} together" if links.rate else ""
    left_out = f"; {count_with_noun(links.left_out.count, 'node')} without trained PyTorch left out" if links.left_out.count else ""
    page.paragraph(
        f"{count_with_noun(links.nodes.count, 'node')}, {count_with_noun(len(links.pairs), 'pair')} ({links.backend}){together}{left_out}",
        indent=2,
    )
    _draw_rows(page, [f"{fault.kind}: {' – '.join(fault.nodes)}: {fault.message}" for fault in links.faults], indent=2)  # noqa: RUF001 -- typography


def _draw_history(page: Page, fleet: Fleet) -> None:
    if fleet.history:
        page.heading("History")
    for sighting in fleet.history[: None if page.look.verbose else _MAX_ROWS]:
        _draw_nodes_row(page, f"{sighting.code} {sighting.name}: {_sighting_time(sighting)}", sighting.nodes.names, 0)
    _draw_row_count(page, len(fleet.history))


def _sighting_time(sighting: Sighting) -> str:
    if sighting.present:
        return f"since {sighting.first[:10]}, in {count_with_noun(sighting.reports, 'report')}"
    return f"gone, last seen {sighting.last[:10]}"


def _draw_unused(page: Page, fleet: Fleet) -> None:
    if fleet.unread:
        page.heading("Not used")
    _draw_rows(page, LazySequence(len(fleet.unread), lambda: (f"{unread.source}: {unread.reason}" for unread in fleet.unread)), indent=2)


def _draw_usable(page: Page, fleet: Fleet) -> None:
    if not fleet.verdicts:
        return
    page.heading("Usable")
    _draw_hostlist(page, fleet.usable, f"{fleet.usable.count} of {count_with_noun(len(fleet.nodes), 'node')}  ")


def _draw_rows(page: Page, rows: Sequence[str], *, indent: int) -> None:
    """Add rows; without -v the first of many."""
    for row in rows[: None if page.look.verbose else _MAX_ROWS]:
        page.paragraph(row, indent=indent, hang=2)
    _draw_row_count(page, len(rows))


def _draw_row_count(page: Page, rows: int) -> None:
    if rows > _MAX_ROWS and not page.look.verbose:
        page.paragraph(f"and {rows - _MAX_ROWS} more (-v shows them)", indent=2)


def _draw_nodes_row(page: Page, told: str, names: Sequence[str], gpus: int) -> None:
    """Add what some nodes have in common; a long hostlist stands on lines of its own."""
    some = nodes_of_names(names)
    about = count_with_noun(some.count, "node") + (f", {count_with_noun(gpus, 'GPU')}" if gpus > some.count else "")
    if len(some.folded) > _MAX_SHORT_HOSTLIST:
        page.paragraph(f"{told}: {about}", indent=2, hang=2)
        _draw_hostlist(page, some, indent=4)
    else:
        page.paragraph(f"{told}: {some.folded}{f' ({about})' if about != '1 node' else ''}", indent=2, hang=2)


def _draw_hostlist(page: Page, some: Nodes, lead: str = "", style: str = "", *, indent: int = 2) -> None:
    """Add a hostlist, broken after commas; without -v its first lines."""
    lines = list(_hostlist_lines(some.folded, page.look.width - indent - len(lead)))
    most = len(lines) if page.look.verbose else _MAX_LINES
    for number, line in enumerate(lines[:most]):
        page.paragraph(line, lead if number == 0 else " " * len(lead), lead_style=style if number == 0 else "", indent=indent)
    if len(lines) > most:
        page.paragraph("… (-v shows all of them)", indent=indent + len(lead))
    if not lines:
        page.paragraph("", lead, lead_style=style, indent=indent)


def _hostlist_lines(hostlist: str, room: int) -> Iterable[str]:
    line = ""
    for part in hostlist.split(","):
        piece = f"{part},"
        if line and len(line) + len(piece) > room:
            yield line
            line = ""
        line += piece
    if hostlist:
        yield line.removesuffix(",")
