"""`gpudoctor fleet`: one diagnosis for the reports of many machines."""

from __future__ import annotations

import typer

from gpudoctor.cli import failure, fleet_options, options
from gpudoctor.cli.fleet_output import Delivery, deliver
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.fleet import Asked, Merge
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report.fleet import Unread
from gpudoctor.report_files import arrivals

fleet = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Diagnose many machines together, from their reports.")
app.add_typer(fleet, name="fleet", short_help="Diagnose many machines together.")


@fleet.command(short_help="Merge the reports of many machines into one diagnosis.", epilog=EPILOG)
def merge(  # noqa: PLR0917 -- Typer calls it by name
    reports: fleet_options.Reports,
    fail_on: options.FailOn = None,
    format: fleet_options.Format = TextOrJson.TEXT,  # noqa: A002 -- named as the option
    output: fleet_options.Output = None,
    compat: options.Compat = None,
    verbose: fleet_options.Verbose = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
) -> int:
    """Merge the reports of many machines: which nodes are broken and why, which differ from the others, which are slow.

    Example: gpudoctor fleet merge reports/ late.tar.gz
    """
    delivery = Delivery(format=format, output=output, verbose=verbose, no_color=no_color)

    def carry_out() -> int:
        delivery.check()
        merged = Merge(Asked(strict=fail_on == "warning"), open_matrix(compat))
        for one in arrivals(reports):
            if one.data is None:
                merged.unread(Unread(source=one.source, kind=one.kind, reason=one.reason, node=one.stem))
            else:
                merged.add(one.data, source=one.source, stem=one.stem)
        return deliver(merged.finish(), delivery)

    return failure.guarded(carry_out, as_json=format is TextOrJson.JSON and output is None)
