"""`gpudoctor fleet`: one diagnosis for the reports of many machines."""

from __future__ import annotations

import typer

from gpudoctor.cli import failure, fleet_options, options
from gpudoctor.cli.content import content
from gpudoctor.cli.field_patterns import patterns
from gpudoctor.cli.fleet_output import Delivery, deliver
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.memory import opened
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.errors import UsageError
from gpudoctor.fleet import Asked, Merge
from gpudoctor.fleet.require import parse
from gpudoctor.matrix_files import open_matrix
from gpudoctor.read.own import own_report
from gpudoctor.report.fleet import Unread
from gpudoctor.report_files import arrivals
from gpudoctor.snapshot import Snapshot

fleet = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Diagnose many machines together, from their reports.")
app.add_typer(fleet, name="fleet", short_help="Diagnose many machines together.")


@fleet.command(short_help="Merge the reports of many machines into one diagnosis.", epilog=EPILOG)
def merge(  # noqa: PLR0917 -- Typer calls it by name
    reports: fleet_options.Reports,
    require: fleet_options.Require = None,
    golden: fleet_options.Golden = None,
    ignore: options.Ignore = None,
    ignore_file: options.IgnoreFile = None,
    fail_on: options.FailOn = None,
    format: fleet_options.Format = TextOrJson.TEXT,  # noqa: A002 -- named as the option
    output: fleet_options.Output = None,
    hostfile: fleet_options.Hostfile = None,
    nodelist: fleet_options.Nodelist = None,
    labels: fleet_options.Labels = None,
    html: fleet_options.Html = None,
    prometheus: fleet_options.Prometheus = None,
    history: fleet_options.History = None,
    compat: options.Compat = None,
    verbose: fleet_options.Verbose = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
) -> int:
    """Merge the reports of many machines: which nodes are broken and why, which differ from the others, which are slow.

    Example: gpudoctor fleet merge reports/ late.tar.gz --require 'nodes>=32' --hostfile hosts
    """
    delivery = Delivery(
        format=format,
        output=output,
        verbose=verbose,
        no_color=no_color,
        hostfile=hostfile,
        nodelist=nodelist,
        labels=labels,
        html=html,
        prometheus=prometheus,
    )

    def carry_out() -> int:
        delivery.check()
        with opened(history) as memory:
            merged = Merge(asked(require, golden, ignore, ignore_file, fail_on), open_matrix(compat), witness=memory.add)
            for one in arrivals(reports):
                if one.data is None:
                    merged.unread(Unread(source=one.source, kind=one.kind, reason=one.reason, node=one.stem))
                else:
                    merged.add(one.data, source=one.source, stem=one.stem)
            found = memory.told(merged.finish())
        return deliver(found, delivery)

    return failure.guarded(carry_out, as_json=format is TextOrJson.JSON and output is None)


def asked(require: list[str] | None, golden: str | None, ignore: list[str] | None, ignore_file: str | None, fail_on: str | None) -> Asked:
    """Return what the options ask of a fleet. Raises UsageError."""
    return Asked(
        strict=fail_on == "warning",
        require=tuple(map(parse, require or ())),
        ignore=(*(ignore or ()), *patterns(ignore_file)),
        golden=None if golden is None else (golden, _reference(golden)),
    )


def _reference(file: str) -> Snapshot:
    found = own_report(content(file)[0])
    if found is None:
        raise UsageError(f"--golden {file}: it holds no gpudoctor report; write one with `gpudoctor check --format json -o FILE`.")
    return found[0]
