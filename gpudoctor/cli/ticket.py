"""`gpudoctor ticket`: a diagnosis to send to somebody, from which everything that identifies is removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec

from gpudoctor.check.run import run
from gpudoctor.cli import failure, live, options, output, system
from gpudoctor.cli.content import examined
from gpudoctor.cli.deliver import runnable_examination
from gpudoctor.cli.destinations import file_named
from gpudoctor.cli.formats import TicketFormat
from gpudoctor.cli.program import app
from gpudoctor.cli.settings import GivenOptions, settle, supposing
from gpudoctor.errors import UsageError
from gpudoctor.examination import Examination
from gpudoctor.matrix_files import open_matrix
from gpudoctor.probe.identity import owner
from gpudoctor.redact import for_ticket
from gpudoctor.redact.pseudonyms import Kind
from gpudoctor.report import document
from gpudoctor.report.build import build
from gpudoctor.report.model import Report
from gpudoctor.report.ticket import markdown, page
from gpudoctor.report.ticket.view import said


class _TicketOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a ticket."""

    report: str | None
    format: TicketFormat
    file: str | None
    show_redactions: bool
    python: str | None
    compat: str | None
    quiet: bool
    root: str


@app.command()
def ticket(  # noqa: PLR0917 -- Typer calls it by name
    report: options.Report = None,
    format: options.TicketFormat = TicketFormat.MARKDOWN,  # noqa: A002 -- named as the option
    output_: options.TicketOutput = None,
    show_redactions: options.ShowRedactions = False,  # noqa: FBT002 -- flags of the command line
    python: options.Python = None,
    compat: options.Compat = None,
    quiet: options.QuietTicket = False,  # noqa: FBT002
    root: options.Root = None,
) -> int:
    """Write a report to publish: names, addresses, UUIDs, serial numbers and secrets become <host-1>, <user-1> and so on.

    Without REPORT, checks this machine as `gpudoctor check --no-smoke` does. `gpudoctor diagnose` reads a ticket back.
    The exit code is 0 once the ticket is written, whatever the verdict.

    \b
    Example, with training:
      gpudoctor check --json report.json
      gpudoctor ticket report.json | gh issue create --title "No GPU" --body-file -
    """  # noqa: D301 -- click leaves the lines after \\b as they are
    asked = _TicketOptions(
        report=report,
        format=format,
        file=file_named(output_),
        show_redactions=show_redactions,
        python=python,
        compat=compat,
        quiet=quiet,
        root=root or "/",
    )
    return failure.guarded(lambda: _carry_out(asked), as_json=format is TicketFormat.JSON)


def _carry_out(asked: _TicketOptions) -> int:
    output.check(asked.file)
    if asked.report is not None and asked.python is not None and asked.python != os.environ.get("GPUDOCTOR_PYTHON"):
        raise UsageError("--python chooses what to check on this machine; leave out --python or the report.")
    seen = _checked(asked) if asked.report is None else _read(asked.report, asked.compat)
    redactor, pseudonyms = for_ticket(owner(asked.root, os.environ), seen)
    made = build(runnable_examination(redactor.struct(seen)), "ticket")
    removed = pseudonyms.counts()
    output.write(_writer(asked.format)(made, removed), asked.file)
    if asked.show_redactions:
        output.say(f"Redacted: {said(removed)}.")
    return 0


def _checked(asked: _TicketOptions) -> Examination:
    """Return the examination of this machine."""
    system.require_linux("ticket")
    settings = settle(GivenOptions(level="look", python=asked.python, compat=asked.compat, root=asked.root), None)
    with live.display(quiet=asked.quiet, report_is_text=asked.format is TicketFormat.MARKDOWN) as progress:
        return run(settings.options, progress)


def _read(file: str, compat: str | None) -> Examination:
    """Return the examination of what a file describes."""
    return examined([file], open_matrix(compat), supposing())


def _writer(form: TicketFormat) -> Callable[[Report, Mapping[Kind, int]], bytes]:
    """Return the function that renders a ticket."""
    if form is TicketFormat.JSON:
        return lambda report, _: document.report(report)
    render = page.render if form is TicketFormat.HTML else markdown.render
    return lambda report, removed: render(report, removed).encode("utf-8", "backslashreplace")
