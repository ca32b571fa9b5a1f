"""`gpudoctor explain`, `rules` and `schema`: the documentation, made from the code."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
import typer

from gpudoctor.cli import options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look
from gpudoctor.cli.program import app
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.nearest import suggestion
from gpudoctor.report import document as documents
from gpudoctor.report import schema as schemas
from gpudoctor.report.build import url
from gpudoctor.report.document import RulePage
from gpudoctor.report.page import Page
from gpudoctor.report.words import SEVERITIES
from gpudoctor.rule_pages import read


@app.command(short_help="Explain a rule: GD203, or driver-too-old.")
def explain(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="A code (GD203) or a name (driver-too-old).")],
    format: options.PageFormat = TextOrJson.TEXT,  # noqa: A002 -- named as the option
) -> int:
    """Explain a rule: what it means, why it matters, what to do, where it is documented."""
    found = _find(rule)
    if format is TextOrJson.JSON:
        output.write(documents.rules((_page(found),)))
        return 0
    seen = look(no_color=False)
    text = read(found)
    if seen.colour:
        from gpudoctor.report.drawing import markdown  # noqa: PLC0415 -- 20 ms for rich, only for colour

        text = markdown(text, seen.width)
    output.write(text.encode("ascii" if seen.plain else "utf-8", "backslashreplace"))
    return 0


@app.command(short_help="List the rules.")
def rules(format: options.PageFormat = TextOrJson.TEXT) -> int:  # noqa: A002 -- named as the option
    """List the rules."""
    pages = tuple(_page(rule) for rule in RULES)
    output.write(documents.rules(pages) if format is TextOrJson.JSON else _table(pages).encode("utf-8"))
    return 0


@app.command(short_help="Print the JSON Schema of a document.")
def schema(
    document: Annotated[
        Literal["report", "snapshot", "error", "rules", "matrix", "xray"], typer.Argument(help="Which document's schema.")
    ] = "report",
) -> int:
    """Print the JSON Schema of a document that gpudoctor writes."""
    output.write(msgspec.json.format(msgspec.json.encode(schemas.schema(document)), indent=2) + b"\n")
    return 0


def _find(name: str) -> Rule:
    for rule in RULES:
        if name.upper() == rule.code or name.lower() == rule.name:
            return rule
    known = [word for rule in RULES for word in (rule.code, rule.name)]
    raise UsageError(f"No rule is called {name!r}; {suggestion(name, known, '`gpudoctor rules` lists them.')}")


def _page(rule: Rule) -> RulePage:
    return RulePage(
        code=rule.code,
        name=rule.name,
        severity=rule.severity.value,
        breaks=rule.breaks.value,
        since=rule.since,
        title=rule.title,
        doc=read(rule).partition("\n\n")[2],
        url=url(rule),
    )


def _table(pages: Iterable[RulePage]) -> str:
    seen = look(no_color=False)
    table = Page(seen)
    pages = list(pages)
    name = max(len(page.name) for page in pages) + 2
    room = max(seen.width - 7 - 9 - name, 20) if sys.stdout is not None and sys.stdout.isatty() else None
    for page in pages:
        title = page.title if room is None or len(page.title) <= room else f"{page.title[: room - 3].rstrip()}..."
        table.cells([(page.code, 7, "bold"), (page.severity, 9, SEVERITIES.get(page.severity, "")), (page.name, name, ""), (title, 0, "")])
    return table.render()
