"""The report as Markdown, to paste in an issue: headline, fixes, stages per GPU, and the details folded away."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report import assumptions, details, gpus, groups, markup, not_checked, stages, summary, training, words
from gpudoctor.report.fixes import FixStep, fix_steps
from gpudoctor.report.headline import headline_of_report
from gpudoctor.report.model import Finding, Report
from gpudoctor.report.page import Page, PageLook

MAX_LETTERS = 60_000
"""Characters. GitHub takes 65,536 in the body of an issue (https://github.com/PyGithub/PyGithub/issues/1906 quotes its answer)."""


def render(report: Report) -> str:
    """Return `report` as a Markdown document that ends with a newline."""
    head = [*_headline_lines(report), *_cause_lines(report), *_drawn_lines(report), *_stage_lines(report)]
    folded = [
        list(part)
        for part in (
            _evidence_lines(report),
            _explained_lines(report),
            _note_lines(report),
            _not_checked_lines(report),
            _recognition_lines(report),
        )
        if part
    ]
    return "\n".join(_lines_within_limit(head, folded, _footer_lines(report)))


def _lines_within_limit(head: list[str], folded: list[list[str]], footer: list[str]) -> list[str]:
    """Return the lines, less the last details where all would be too long for an issue."""
    while folded and sum(len(line) + 1 for part in (head, *folded, footer) for line in part) > MAX_LETTERS:
        folded.pop()
    return [*head, *(line for part in folded for line in part), *footer]


def _headline_lines(report: Report) -> list[str]:
    top = headline_of_report(report)
    words = " ".join(filter(None, (top.mark.sign, top.mark.word, top.scope and f"({top.scope})")))
    about = " · ".join(map(markup.markup_text, summary.summary_parts(report.summary)))
    text = (top.text or report.proved_to.text).rstrip(".")
    return [f"## {words}: {markup.markup_text(text)}", "", *((about, "") if about else ())]


def _cause_lines(report: Report) -> Iterator[str]:
    """Yield each root cause with what to do; what the first says is the headline."""
    for number, group in enumerate(groups.grouped_causes(report)):
        first, about = group.first, gpus.subject_names(report, group.findings)
        aside = ", ".join(filter(None, (markup.markup_text(about), first.doubt)))
        yield from (f"### [{first.code}]({first.url}) {markup.markup_text(first.title)}" + (f" ({aside})" if aside else ""), "")
        if number or group.others:
            yield from (
                f"**{markup.markup_text(words.capitalised(first.severity))}:** {markup.markup_text(groups.group_message(report, group))}",
                "",
            )
        for step in fix_steps(group):
            yield from _step_lines(step)


def _step_lines(step: FixStep) -> Iterator[str]:
    yield from (f"**{step.lead}:** {markup.markup_text(step.title)}", "")
    if step.commands:
        yield from (*markup.code_block(step.commands), "")
    if step.verify:
        yield from (f"Verify: {markup.code_span(step.verify)}", "")


def _drawn_lines(report: Report) -> list[str]:
    """Return what the terminal shows of a training run, or of a combination that is only assumed."""
    page = Page(PageLook(width=100))
    if report.is_assumed:
        assumptions.draw(page, report)
    elif report.command == "smoke":
        training.draw(page, report.snapshot)
    lines = page.render().strip("\n").splitlines()
    return ["````text", *lines, "````", ""] if lines else []


def _stage_lines(report: Report) -> Iterator[str]:
    """Yield the table of stages, with equal GPUs in one row; nothing if none was tried."""
    table = stages.stage_table(report)
    if table is None:
        return
    yield from ("### Stages per GPU", "")
    yield from markup.table_lines(
        ["GPU", *table.stages],
        (
            [markup.markup_text(f"{row.gpus} {row.model}".rstrip()), *(markup.markup_text(mark.sign) for mark in row.marks)]
            for row in table.rows
        ),
    )
    yield from ("", ", ".join(f"{mark.sign} {mark.word}" for mark in table.legend), "")


def _evidence_lines(report: Report) -> list[str]:
    """Return what was seen, once where it is the same for several GPUs."""
    seen = dict.fromkeys((finding.code, evidence) for finding in report.causes for evidence in finding.evidence)
    rows = [
        [code, markup.markup_text(evidence.what), *(markup.code_span(text, in_table=True) for text in (evidence.value, evidence.where))]
        for code, evidence in seen
    ]
    return _folded_lines(f"Evidence ({len(rows)})", markup.table_lines(["rule", "what", "value", "where"], rows)) if rows else []


def _explained_lines(report: Report) -> list[str]:
    lines = [
        f"- {_finding_link(report, (finding,))}: {markup.markup_text(finding.message)} (explained by {markup.markup_text(', '.join(finding.because_of))})"
        for finding in report.findings
        if finding.because_of
    ]
    return _folded_lines(f"Also explained by the above ({len(lines)})", lines) if lines else []


def _note_lines(report: Report) -> list[str]:
    lines = [
        f"- {_finding_link(report, group.findings)}: {markup.markup_text(groups.group_message(report, group))}"
        for group in groups.grouped_notes(report)
    ]
    lines += [f"- {markup.markup_text(remark)}" for remark in report.snapshot.remarks]
    lines += [
        f"- {markup.markup_text(rule.code)} {markup.markup_text(rule.name)} skipped: {markup.markup_text(rule.reason or 'no reason given')}"
        for rule in report.skipped
    ]
    return _folded_lines(f"Notes ({len(lines)})", lines) if lines else []


def _finding_link(report: Report, findings: tuple[Finding, ...]) -> str:
    """Return the code with the page behind it, and what the findings are about."""
    about = markup.markup_text(gpus.subject_names(report, findings))
    return f"[{findings[0].code}]({findings[0].url})" + (f" ({about})" if about else "")


def _not_checked_lines(report: Report) -> list[str]:
    """Return what was not checked, by reason."""
    lines = [
        f"- {markup.markup_text(', '.join(dict.fromkeys(item.code for item in items)))}: {markup.markup_text(reason)}"
        for reason, items in not_checked.items_by_reason(report)
    ]
    lines += [f"- {markup.markup_text(not_judged.what)}: {markup.markup_text(not_judged.reason)}" for not_judged in report.not_judged]
    return _folded_lines(f"Not checked ({len(lines)})", lines) if lines else []


def _recognition_lines(report: Report) -> list[str]:
    """Return what was recognised in a pasted text."""
    lines = [f"- {markup.markup_text(line)}" for line in details.recognition_lines(report.recognised)]
    return _folded_lines(f"Read ({len(lines)})", lines) if lines else []


def _folded_lines(title: str, lines: Iterable[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _footer_lines(report: Report) -> list[str]:
    examined = report.examined
    said = [
        *([words.capitalised(report.proved_to.text)] if report.proved_to.rung else []),
        f"{count_with_noun(len(report.passed), 'check')} passed",
        *([f"examined {examined.python} ({examined.why})"] if examined.python else []),
        f"gpudoctor {report.tool.version}, tables of {report.matrix.date}, {report.created}",
    ]
    command = shlex.join(report.argv) or f"gpudoctor {report.command}"
    return [f"{markup.code_span(command)}: {markup.markup_text('; '.join(said))}", ""]
