"""Writes what is known of a fleet: to the screen, and to the files that options name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.destinations import refuse_same_file
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.screen import look_of_output
from gpudoctor.report import document
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.fleet_text import render

_FILE_WRITERS = {
    "hostfile": ("fleet_nodes", "hostfile"),
    "nodelist": ("fleet_nodes", "node_list"),
    "labels": ("fleet_nodes", "labels"),
    "html": ("fleet_page", "render"),
    "prometheus": ("fleet_metrics", "render"),
}
"""The module and function that yield something else to write, by the option that names its file."""
_PIECES_TOGETHER = 500
"""Pieces of text that are written together."""


class FleetDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """Where the result of one run goes."""

    format: TextOrJson = TextOrJson.TEXT
    output: str | None = None
    verbose: bool = False
    no_color: bool = False
    hostfile: str | None = None
    nodelist: str | None = None
    labels: str | None = None
    html: str | None = None
    prometheus: str | None = None

    def check(self) -> None:
        """Raise OutputError before any work is done for a file that could not be written, and UsageError if two would overwrite each other."""
        named = {f"--{name}": file for name in _FILE_WRITERS if (file := getattr(self, name)) is not None}
        asked = {"the report": self.output} | {option: output.file_named(file) for option, file in named.items()}
        refuse_same_file(asked)
        for file in asked.values():
            output.require_writable(file)


def deliver_fleet(fleet: Fleet, delivery: FleetDelivery) -> int:
    """Write the result and return the exit code."""
    output.write_output(_rendered_fleet(fleet, delivery), delivery.output)
    for option, (module, function) in _FILE_WRITERS.items():
        file = getattr(delivery, option)
        if file is not None:
            written = getattr(import_module(f"gpudoctor.report.{module}"), function)(fleet)  # jinja2 alone takes 30 ms
            output.write_output(_joined_pieces(written), output.file_named(file))
    return fleet.exit_code


def _joined_pieces(text: Iterator[str]) -> Iterator[bytes]:
    """Yield a text that comes in small pieces in larger ones: 100,000 nodes have 15 MB of labels."""
    while pieces := list(islice(text, _PIECES_TOGETHER)):
        yield "".join(pieces).encode("utf-8", "backslashreplace")


def _rendered_fleet(fleet: Fleet, delivery: FleetDelivery) -> bytes | Iterable[bytes]:
    if delivery.format is TextOrJson.JSON:
        return document.encoded_pieces(fleet)
    shown = look_of_output(no_color=delivery.no_color, verbose=delivery.verbose, to_stdout=delivery.output is None)
    return shown.encoded_text(render(fleet, shown))
