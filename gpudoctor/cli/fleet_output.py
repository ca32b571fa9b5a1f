"""Writes what is known of a fleet: to the screen, and to the files that options name."""

from __future__ import annotations

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look
from gpudoctor.report import document, fleet_nodes
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.fleet_text import render

_FILES = {"hostfile": fleet_nodes.hostfile, "nodelist": fleet_nodes.node_list, "labels": fleet_nodes.labels}
"""What else is written, by the option that names the file."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Where the result of one run goes."""

    format: TextOrJson = TextOrJson.TEXT
    output: str | None = None
    verbose: bool = False
    no_color: bool = False
    hostfile: str | None = None
    nodelist: str | None = None
    labels: str | None = None

    def check(self) -> None:
        """Raise OutputError before any work is done for a file that could not be written."""
        for file in (self.output, *(getattr(self, name) for name in _FILES)):
            if file is not None or file is self.output:
                output.check(file)


def deliver(fleet: Fleet, delivery: Delivery) -> int:
    """Write the result and return the exit code."""
    output.write(_rendered(fleet, delivery), delivery.output)
    for name, written in _FILES.items():
        file = getattr(delivery, name)
        if file is not None:
            output.write(written(fleet).encode("utf-8", "backslashreplace"), file)
    return fleet.exit_code


def _rendered(fleet: Fleet, delivery: Delivery) -> bytes:
    if delivery.format is TextOrJson.JSON:
        return document.encode(fleet)
    shown = look(no_color=delivery.no_color, verbose=delivery.verbose, to_stdout=delivery.output is None)
    return render(fleet, shown).encode("ascii" if shown.plain else "utf-8", "backslashreplace")
