"""`gpudoctor fleet`: one diagnosis for the reports of many machines."""

from __future__ import annotations

import typer

from gpudoctor.cli import fleet_options, options
from gpudoctor.cli.fleet_run import FleetCommand, GatheredResult, run_fleet_command
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.output import print_error
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.exit_codes import USAGE
from gpudoctor.fleet import Merge
from gpudoctor.report.fleet import Unread
from gpudoctor.report_files import report_inputs

fleet = typer.Typer(rich_markup_mode=None)
app.add_typer(fleet, name="fleet")


@fleet.callback(invoke_without_command=True)
def _fleet(context: typer.Context) -> None:
    """Diagnose many machines together, from their reports."""
    if context.invoked_subcommand is None:
        print_error(context.get_help())
        raise typer.Exit(USAGE)


@fleet.command(short_help="Merge the reports of many machines into one diagnosis.", epilog=EPILOG)
def merge(
    reports: fleet_options.Reports,
    require: fleet_options.Require = None,
    golden: fleet_options.Golden = None,
    ignore: options.Ignore = None,
    ignore_file: options.IgnoreFile = None,
    fail_on: options.FailOn = None,
    format: fleet_options.Format = TextOrJson.TEXT,
    output: options.ResultOutput = None,
    hostfile: fleet_options.Hostfile = None,
    nodelist: fleet_options.Nodelist = None,
    labels: fleet_options.Labels = None,
    html: fleet_options.Html = None,
    prometheus: fleet_options.Prometheus = None,
    history: fleet_options.History = None,
    compat: options.Compat = None,
    verbose: fleet_options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Merge the reports of many machines: which nodes are broken and why, which differ from the others, which are slow.

    Example: gpudoctor fleet merge reports/ late.tar.gz --require 'nodes>=32' --hostfile hosts
    """
    run = FleetCommand.of(locals())

    def gather(merged: Merge) -> GatheredResult:
        for arrival in report_inputs(reports):
            if arrival.data is None:
                merged.unread(Unread(source=arrival.source, kind=arrival.kind, reason=arrival.reason, node=arrival.stem))
            else:
                merged.add(arrival.data, source=arrival.source, stem=arrival.stem)
        return GatheredResult()

    return run_fleet_command(run, lambda: gather)
