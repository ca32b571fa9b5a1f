"""Writes what is known of a fleet: to the screen, and to the files that options name."""

from __future__ import annotations

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look
from gpudoctor.report import document
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.fleet_text import render


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Where the result of one run goes."""

    format: TextOrJson = TextOrJson.TEXT
    output: str | None = None
    verbose: bool = False
    no_color: bool = False

    def check(self) -> None:
        """Raise OutputError before any work is done for a file that could not be written."""
        output.check(self.output)


def deliver(fleet: Fleet, delivery: Delivery) -> int:
    """Write the result and return the exit code."""
    output.write(_rendered(fleet, delivery), delivery.output)
    return fleet.exit_code


def _rendered(fleet: Fleet, delivery: Delivery) -> bytes:
    if delivery.format is TextOrJson.JSON:
        return document.encode(fleet)
    shown = look(no_color=delivery.no_color, verbose=delivery.verbose, to_stdout=delivery.output is None)
    return render(fleet, shown).encode("ascii" if shown.plain else "utf-8", "backslashreplace")
