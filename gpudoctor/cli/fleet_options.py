"""The options and arguments of `gpudoctor fleet`, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import completions, formats, options

Reports = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Reports of `check --format json`: files, folders, JSON lines, tars, also packed with gzip or zstd; - reads standard input. "
        "A report without a host name is called by its file: gpu001.json is gpu001.",
    ),
]
Format = Annotated[formats.TextOrJson, options.text_or_json_option("fleet")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also show consequences, notes, facts that no rule reads, and every figure that was compared."),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT",
        autocompletion=completions.complete_fleet_requirements,
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
Html = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Also write one HTML page with a heat map of nodes and checks to FILE.")
]
Prometheus = Annotated[
    str | None, typer.Option("--prometheus", metavar="FILE", help="Also write metrics for node_exporter's textfile collector to FILE.")
]
History = Annotated[
    str | None,
    typer.Option(
        "--history", metavar="FILE", help="Remember in FILE, an SQLite database, when each finding was seen, and report since when."
    ),
]
Address = Annotated[
    str,
    typer.Argument(
        metavar="[ADDRESS]", help="The Ray cluster: HOST:6379 or ray://HOST:10001. Default: RAY_ADDRESS, else the one on this machine."
    ),
]
Ray = Annotated[bool, typer.Option("--ray", help="Reach the nodes through Ray.")]
Python = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Examine this interpreter or environment folder of each node. Default: the environment of Ray tasks.",
    ),
]
RuntimeEnv = Annotated[
    str | None,
    typer.Option("--runtime-env", metavar="FILE", help="Run in the Ray runtime environment that this YAML or JSON file describes."),
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="Give up on a node after this long. Default: 600.")]
SaveReports = Annotated[str | None, typer.Option("--reports", metavar="DIR", help="Also write each node's report to a file in DIR.")]
