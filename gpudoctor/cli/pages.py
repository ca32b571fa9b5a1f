"""`gpudoctor explain`, `rules` and `schema`: the manual, made from the code and the rules' pages."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import msgspec
import typer

from gpudoctor.cli import options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.program import app
from gpudoctor.cli.screen import is_terminal, look_of_output
from gpudoctor.cli.width import requested_width
from gpudoctor.findings import Severity
from gpudoctor.manual import families, pages, text
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.look_up import look_up
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report import document as documents
from gpudoctor.report import schema as schemas
from gpudoctor.report.page import PageLook, drawing_module
from gpudoctor.report.words import ascii_text
from gpudoctor.rule_pages import read_rule_page


@app.command()
def explain(
    what: options.Explained,
    format: options.PageFormat = TextOrJson.TEXT,
) -> int:
    """Explain a rule, an error message, an Xid, a CUDA error or an exit code: what it means and how to fix it.

    \b
    Examples:
      gpudoctor explain GD203
      gpudoctor explain CUDA error 803
      gpudoctor explain 'undefined symbol: ncclCommRegister'
      gpudoctor explain exit-codes
      gpudoctor explain agents
    """
    answer = look_up(" ".join(what), open_matrix())
    if format is TextOrJson.JSON:
        output.write_output(documents.encode_document(pages.document_of_answer(answer)))
        return 0
    _write_page(_answer_text(answer, seen := look_of_output(no_color=False)), seen)
    return 0


@app.command()
def rules(
    family: options.Families = None,
    severity: options.SeverityOnly = None,
    format: options.PageFormat = TextOrJson.TEXT,
) -> int:
    """List the rules by family.

    Families: hardware, driver, platform, libraries, builds, python, state, multi-gpu, training.
    """
    chosen = tuple(rule for rule in families.rules_of_families(family or ()) if severity is None or rule.severity is Severity(severity))
    if format is TextOrJson.JSON:
        output.write_output(documents.encode_document(pages.document_of_rules(chosen)))
        return 0
    seen = look_of_output(no_color=False)
    fits = requested_width() is not None or (sys.stdout is not None and sys.stdout.isatty())
    _write_page(text.rules_by_family(chosen, seen, wrap=fits), seen)
    return 0


@app.command()
def schema(
    document: Annotated[
        Literal["report", "snapshot", "error", "rules", "matrix", "xray", "envs", "fit", "diff", "fleet", "plan", "index"],
        typer.Argument(metavar="[DOCUMENT]", help="report, snapshot, error, rules, matrix, xray, envs, fit, diff, fleet, plan or index."),
    ] = "report",
) -> int:
    """Print the JSON Schema of a document that gpudoctor writes."""
    output.write_output(msgspec.json.format(msgspec.json.encode(schemas.document_schema(document)), indent=2) + b"\n")
    return 0


def _answer_text(answer: ManualAnswer, seen: PageLook) -> str:
    """Return the one page that was found, or the list of those to choose from, below what the text itself means."""
    parts = [text.meaning_text(answer, seen)] if answer.meaning else []
    if answer.guide:
        parts.append(_markdown_for_terminal(answer.guide, seen))
    if answer.codes:
        parts.append(_markdown_for_terminal(text.exit_codes_page(answer.codes, seen.width), seen))
    if len(answer.rules) == 1:
        parts.append(_markdown_for_terminal(read_rule_page(answer.rules[0]), seen))
        if answer.also:
            parts.append(text.other_pages_text(answer.also, seen))
    elif answer.rules:
        parts.append(text.choices_text(answer.rules + answer.also, seen))
    return "\n".join(parts)


def _markdown_for_terminal(markdown: str, seen: PageLook) -> str:
    """Return Markdown laid out for a terminal; as it is for a pipe and for ASCII."""
    if seen.plain:
        return ascii_text(markdown)
    if not (seen.colour or is_terminal()):
        return markdown
    drawn: str = drawing_module().drawn_markdown(markdown, seen.width, colour=seen.colour)
    return drawn


def _write_page(shown: str, seen: PageLook) -> None:
    output.write_output(seen.encoded_text(shown))
