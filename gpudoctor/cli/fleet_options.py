"""The options and arguments of `gpudoctor fleet`, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import formats

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
