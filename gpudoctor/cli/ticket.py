"""`gpudoctor ticket`: a diagnosis to send to somebody, from which everything that identifies is removed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from gpudoctor.check.run import examine_machine
from gpudoctor.cli import failure, options, output, progress_display, system
from gpudoctor.cli.content import examine_files
from gpudoctor.cli.delivery import runnable_examination
from gpudoctor.cli.formats import TicketFormat
from gpudoctor.cli.program import app
from gpudoctor.cli.settings import GivenOptions, diagnosis_policy, settings_of_options
from gpudoctor.errors import UsageError
from gpudoctor.examination import Examination
from gpudoctor.matrix_files import open_matrix
from gpudoctor.probe.identity import owner_of_machine
from gpudoctor.redact import redactor_for_ticket
from gpudoctor.redact.pseudonyms import RemovedKind
from gpudoctor.report import document
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.report.ticket import markdown, page
from gpudoctor.report.ticket.view import removal_text


@app.command()
def ticket(
    report: options.Report = None,
    format: options.TicketFormat = TicketFormat.MARKDOWN,
    output_: options.TicketOutput = None,
    show_redactions: options.ShowRedactions = False,
    python: options.Python = None,
    compat: options.Compat = None,
    quiet: options.NoProgress = False,
    root: options.Root = None,
) -> int:
    """Write a report to publish: names, addresses, UUIDs, serial numbers and secrets become <host-1>, <user-1> and so on.

    Without REPORT, checks this machine as `gpudoctor check --no-smoke` does. `gpudoctor diagnose` reads a ticket back.
    The exit code is 0 once the ticket is written, whatever the verdict.

    \b
    Example, with training:
      gpudoctor check --json report.json
      gpudoctor ticket report.json | gh issue create --title "No GPU" --body-file -
    """
    file, place = output.file_named(output_), root or "/"

    def carry_out() -> int:
        output.require_writable(file)
        if report is not None and python is not None and python != os.environ.get("GPUDOCTOR_PYTHON"):
            raise UsageError("--python chooses what to check on this machine; leave out --python or the report.")
        if report is None:
            given = GivenOptions(level="look", python=python, compat=compat, root=place)
            seen = _checked_machine(given, quiet=quiet, as_text=format is TicketFormat.MARKDOWN)
        else:
            seen = examine_files([report], open_matrix(compat), diagnosis_policy())
        redactor, pseudonyms = redactor_for_ticket(owner_of_machine(place, os.environ), seen)
        made = build_report(runnable_examination(redactor.struct(seen)), "ticket")
        removed = pseudonyms.counts()
        output.write_output(_ticket_writer(format)(made, removed), file)
        if show_redactions:
            output.print_error(f"Redacted: {removal_text(removed)}.")
        return 0

    return failure.guarded_exit_code(carry_out, as_json=format is TicketFormat.JSON)


def _checked_machine(given: GivenOptions, *, quiet: bool, as_text: bool) -> Examination:
    """Return the examination of this machine."""
    system.require_linux("ticket")
    settings = settings_of_options(given, None)
    with progress_display.display_for_terminal(quiet=quiet, report_is_text=as_text) as progress:
        return examine_machine(settings.options, progress)


def _ticket_writer(form: TicketFormat) -> Callable[[Report, Mapping[RemovedKind, int]], bytes]:
    """Return the function that renders a ticket."""
    if form is TicketFormat.JSON:
        return lambda report, _: document.encode_document(report)
    render = page.render if form is TicketFormat.HTML else markdown.render
    return lambda report, removed: render(report, removed).encode("utf-8", "backslashreplace")
