"""`gpudoctor explain`, `rules` and `schema`: the manual, made from the code and the rules' pages."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import msgspec
import typer

from gpudoctor.cli import options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look, on_terminal
from gpudoctor.cli.program import app
from gpudoctor.cli.width import asked
from gpudoctor.findings import Severity
from gpudoctor.manual import families, pages, text
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.look_up import look_up
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report import document as documents
from gpudoctor.report import schema as schemas
from gpudoctor.report.page import Look, drawing
from gpudoctor.report.words import ascii_only
from gpudoctor.rule_pages import read


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
        output.write(documents.encode(pages.of_answer(answer)))
        return 0
    _write(_shown(answer, seen := look(no_color=False)), seen)
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
    chosen = tuple(rule for rule in families.rules_of(family or ()) if severity is None or rule.severity is Severity(severity))
    if format is TextOrJson.JSON:
        output.write(documents.encode(pages.of_rules(chosen)))
        return 0
    seen = look(no_color=False)
    fits = asked() is not None or (sys.stdout is not None and sys.stdout.isatty())
    _write(text.rules_by_family(chosen, seen, wrap=fits), seen)
    return 0


@app.command()
def schema(
    document: Annotated[
        Literal["report", "snapshot", "error", "rules", "matrix", "xray", "envs", "fit", "diff", "fleet", "plan", "index"],
        typer.Argument(metavar="[DOCUMENT]", help="report, snapshot, error, rules, matrix, xray, envs, fit, diff, fleet, plan or index."),
    ] = "report",
) -> int:
    """Print the JSON Schema of a document that gpudoctor writes."""
    output.write(msgspec.json.format(msgspec.json.encode(schemas.schema(document)), indent=2) + b"\n")
    return 0


def _shown(answer: ManualAnswer, seen: Look) -> str:
    """Return the one page that was found, or the list of those to choose from, below what the text itself means."""
    parts = [text.meaning(answer, seen)] if answer.meaning else []
    if answer.guide:
        parts.append(_drawn(answer.guide, seen))
    if answer.codes:
        parts.append(_drawn(text.exit_codes(answer.codes, seen.width), seen))
    if len(answer.rules) == 1:
        parts.append(_drawn(read(answer.rules[0]), seen))
        if answer.also:
            parts.append(text.see_also(answer.also, seen))
    elif answer.rules:
        parts.append(text.choices(answer.rules + answer.also, seen))
    return "\n".join(parts)


def _drawn(markdown: str, seen: Look) -> str:
    """Return Markdown laid out for a terminal; as it is for a pipe and for ASCII."""
    if seen.plain:
        return ascii_only(markdown)
    if not (seen.colour or on_terminal()):
        return markdown
    drawn: str = drawing().markdown(markdown, seen.width, colour=seen.colour)
    return drawn


def _write(shown: str, seen: Look) -> None:
    output.write(seen.encoded(shown))
