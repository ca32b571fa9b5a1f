"""The report as Markdown, to paste in an issue: headline, fixes, stages per GPU, and the details folded away."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from gpudoctor.findings.naming import counted
from gpudoctor.report import details, gpus, groups, markup, not_checked, stages, summary, supposed, training, words
from gpudoctor.report.fixes import FixStep, steps
from gpudoctor.report.headline import headline
from gpudoctor.report.model import Finding, Report
from gpudoctor.report.page import Look, Page

LIMIT = 60_000
"""Characters. GitHub takes 65,536 in the body of an issue (https://github.com/PyGithub/PyGithub/issues/1906 quotes its answer)."""


def render(report: Report) -> str:
    """Return `report` as a Markdown document that ends with a newline."""
    head = [*_headline(report), *_causes(report), *_drawn(report), *_stages(report)]
    folded = [
        list(part) for part in (_evidence(report), _explained(report), _notes(report), _not_checked(report), _recognised(report)) if part
    ]
    return "\n".join(_within(head, folded, _footer(report)))


def _within(head: list[str], folded: list[list[str]], footer: list[str]) -> list[str]:
    """Return the lines, less the last details where all would be too long for an issue."""
    while folded and sum(len(line) + 1 for part in (head, *folded, footer) for line in part) > LIMIT:
        folded.pop()
    return [*head, *(line for part in folded for line in part), *footer]


def _headline(report: Report) -> list[str]:
    top = headline(report)
    words = " ".join(filter(None, (top.mark.sign, top.mark.word, top.scope and f"({top.scope})")))
    about = " · ".join(map(markup.text, summary.parts(report.summary)))
    text = (top.text or report.proved_to.text).rstrip(".")
    return [f"## {words}: {markup.text(text)}", "", *((about, "") if about else ())]


def _causes(report: Report) -> Iterator[str]:
    """Yield each root cause with what to do; what the first says is the headline."""
    for number, group in enumerate(groups.causes(report)):
        first, about = group.first, gpus.subjects(report, group.findings)
        aside = ", ".join(filter(None, (markup.text(about), first.doubt)))
        yield from (f"### [{first.code}]({first.url}) {markup.text(first.title)}" + (f" ({aside})" if aside else ""), "")
        if number or group.others:
            yield from (f"**{markup.text(words.upper_first(first.severity))}:** {markup.text(groups.message(report, group))}", "")
        for step in steps(group):
            yield from _step(step)


def _step(step: FixStep) -> Iterator[str]:
    yield from (f"**{step.lead}:** {markup.text(step.title)}", "")
    if step.commands:
        yield from (*markup.block(step.commands), "")
    if step.verify:
        yield from (f"Verify: {markup.code(step.verify)}", "")


def _drawn(report: Report) -> list[str]:
    """Return what the terminal shows of a training run, or of a combination that is only assumed."""
    page = Page(Look(width=100))
    if report.is_supposed:
        supposed.draw(page, report)
    elif report.command == "smoke":
        training.draw(page, report.snapshot)
    lines = page.render().strip("\n").splitlines()
    return ["````text", *lines, "````", ""] if lines else []


def _stages(report: Report) -> Iterator[str]:
    """Yield the table of stages, with equal GPUs in one row; nothing if none was tried."""
    table = stages.table(report)
    if table is None:
        return
    yield from ("### Stages per GPU", "")
    yield from markup.table(
        ["GPU", *table.stages],
        ([markup.text(f"{row.gpus} {row.model}".rstrip()), *(markup.text(mark.sign) for mark in row.marks)] for row in table.rows),
    )
    yield from ("", ", ".join(f"{mark.sign} {mark.word}" for mark in table.legend), "")


def _evidence(report: Report) -> list[str]:
    """Return what was seen, once where it is the same for several GPUs."""
    seen = dict.fromkeys((finding.code, evidence) for finding in report.causes for evidence in finding.evidence)
    rows = [
        [code, markup.text(evidence.what), *(markup.code(text, in_table=True) for text in (evidence.value, evidence.where))]
        for code, evidence in seen
    ]
    return _folded(f"Evidence ({len(rows)})", markup.table(["rule", "what", "value", "where"], rows)) if rows else []


def _explained(report: Report) -> list[str]:
    lines = [
        f"- {_link(report, (finding,))}: {markup.text(finding.message)} (explained by {markup.text(', '.join(finding.because_of))})"
        for finding in report.findings
        if finding.because_of
    ]
    return _folded(f"Also explained by the above ({len(lines)})", lines) if lines else []


def _notes(report: Report) -> list[str]:
    lines = [f"- {_link(report, group.findings)}: {markup.text(groups.message(report, group))}" for group in groups.notes(report)]
    lines += [f"- {markup.text(remark)}" for remark in report.snapshot.remarks]
    lines += [
        f"- {markup.text(rule.code)} {markup.text(rule.name)} skipped: {markup.text(rule.reason or 'no reason given')}"
        for rule in report.skipped
    ]
    return _folded(f"Notes ({len(lines)})", lines) if lines else []


def _link(report: Report, findings: tuple[Finding, ...]) -> str:
    """Return the code with the page behind it, and what the findings are about."""
    about = markup.text(gpus.subjects(report, findings))
    return f"[{findings[0].code}]({findings[0].url})" + (f" ({about})" if about else "")


def _not_checked(report: Report) -> list[str]:
    """Return what was not checked, by reason."""
    lines = [
        f"- {markup.text(', '.join(dict.fromkeys(item.code for item in items)))}: {markup.text(reason)}"
        for reason, items in not_checked.reasons(report)
    ]
    lines += [f"- {markup.text(not_judged.what)}: {markup.text(not_judged.reason)}" for not_judged in report.not_judged]
    return _folded(f"Not checked ({len(lines)})", lines) if lines else []


def _recognised(report: Report) -> list[str]:
    """Return what was recognised in a pasted text."""
    lines = [f"- {markup.text(line)}" for line in details.readings(report.recognised)]
    return _folded(f"Read ({len(lines)})", lines) if lines else []


def _folded(title: str, lines: Iterable[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _footer(report: Report) -> list[str]:
    examined = report.examined
    said = [
        *([words.upper_first(report.proved_to.text)] if report.proved_to.rung else []),
        f"{counted(len(report.passed), 'check')} passed",
        *([f"examined {examined.python} ({examined.why})"] if examined.python else []),
        f"gpudoctor {report.tool.version}, tables of {report.matrix.date}, {report.created}",
    ]
    command = shlex.join(report.argv) or f"gpudoctor {report.command}"
    return [f"{markup.code(command)}: {markup.text('; '.join(said))}", ""]
