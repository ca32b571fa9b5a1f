"""`gpudoctor diagnose`: the same diagnosis for a report, or for text that somebody pasted."""

from __future__ import annotations

from gpudoctor.cli import failure, options
from gpudoctor.cli.content import examined
from gpudoctor.cli.deliver import deliver
from gpudoctor.cli.destinations import destinations, require_writable
from gpudoctor.cli.formats import Format
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import Delivery, supposing
from gpudoctor.findings import Policy
from gpudoctor.matrix_files import open_matrix


@app.command(short_help="Diagnose a report, or pasted text of other tools.", epilog=EPILOG)
def diagnose(  # noqa: PLR0917 -- Typer calls it by name
    files: options.Texts,
    format: options.Format = None,  # noqa: A002 -- named as the option
    output_: options.Output = None,
    json: options.Json = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    sarif: options.Sarif = None,
    only: options.Only = None,
    skip: options.Skip = None,
    fail_on: options.FailOn = None,
    compat: options.Compat = None,
    verbose: options.Verbose = False,  # noqa: FBT002
    quiet: options.QuietReport = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
) -> int:
    """Find the cause of a fault in text: error messages, logs, nvidia-smi, torch.utils.collect_env, pip list, or several of them mixed.

    Several files describe one machine; one of them may be a gpudoctor report.

    Example: nvidia-smi 2>&1 | gpudoctor diagnose - train.log
    """
    beside = {Format.JSON: json, Format.JUNIT: junit, Format.MARKDOWN: markdown, Format.SARIF: sarif}
    form = Delivery(destinations=destinations(format or Format.TEXT, output_, beside), verbose=verbose, quiet=quiet, no_color=no_color)
    policy = supposing(tuple(only or ()), tuple(skip or ()), fail_on)
    return failure.guarded(lambda: _carry_out(files, policy, compat, form), as_json=form.errors_as_json)


def _carry_out(files: list[str], policy: Policy, compat: str | None, form: Delivery) -> int:
    require_writable(form.destinations)
    matrix = open_matrix(compat)
    return deliver(examined(files, matrix, policy), "diagnose", form)
