"""The options and arguments of `gpudoctor fleet`, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import completions, formats

Reports = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Reports of `check --format json`: files, folders, JSON lines, tars, also packed with gzip or zstd; - reads standard input. "
        "A report without a host name is called by its file: gpu001.json is gpu001.",
    ),
]
Format = Annotated[formats.TextOrJson, typer.Option("--format", help="text, or json (gpudoctor.fleet/1).")]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the result to FILE instead of standard output.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also show consequences, notes, facts that no rule reads, and every figure that was compared."),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT",
        autocompletion=completions.required_of_fleet,
        help="Fail unless this holds for the usable nodes: 'nodes>=32', 'gpus>=256', same:driver, same:torch. With a number of nodes, "
        "broken nodes beyond it do not fail. Repeatable.",
    ),
]
Golden = Annotated[
    str | None, typer.Option(metavar="REPORT", help="Compare the nodes with this report instead of with what most of them have.")
]
Hostfile = Annotated[str | None, typer.Option(metavar="FILE", help="Also write the usable nodes to FILE, one a line.")]
Nodelist = Annotated[
    str | None, typer.Option(metavar="FILE", help="Also write the usable nodes to FILE as Slurm's node list: gpu[001-040].")
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Also write each node's verdict to FILE as labels, for `kubectl apply --server-side -f FILE`."),
]
