"""Where the reports of one run go: standard output, files, and GitHub's step summary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.formats import Format
from gpudoctor.errors import UsageError

EXTRA_FORMATS = (Format.JSON, Format.JUNIT, Format.MARKDOWN, Format.SARIF)
"""The formats with their own option, such as --json FILE."""


class Destination(msgspec.Struct, frozen=True):
    """One report to write."""

    format: Format
    file: str | None = None
    """None is standard output."""
    append: bool = False
    """Add to what the file holds."""


def report_destinations(form: Format, file: str | None, beside: Mapping[Format, str | None]) -> tuple[Destination, ...]:
    """Return the reports to write: that of --format and -o, those of --json and similar options, the step summary of --format github.

    Raises UsageError if two would overwrite each other.
    """
    asked = {f"-o {file}" if file is not None else f"the {form.value} report": Destination(form, output.file_named(file))}
    asked |= {f"--{other.value}": Destination(other, output.file_named(name)) for other, name in beside.items() if name is not None}
    refuse_same_file({option: destination.file for option, destination in asked.items()})
    return (*asked.values(), *(_step_summary() if form is Format.GITHUB else ()))


def require_writable(places: Iterable[Destination]) -> None:
    """Raise OutputError before any work is done for a report that could not be written."""
    for place in places:
        output.require_writable(place.file, append=place.append)


def refuse_same_file(asked: Mapping[str, str | None]) -> None:
    """Raise UsageError if two options name one file; None is standard output."""
    taken: dict[str | None, str] = {}
    for option, file in asked.items():
        if file == os.devnull:
            continue
        place = None if file is None else os.path.join(os.path.realpath(os.path.dirname(file)), os.path.basename(file))
        if place in taken:
            where = "standard output" if file is None else file
            raise UsageError(f"{taken[place]} and {option} cannot both be written to {where}; name another file for one of them.")
        taken[place] = option


def _step_summary() -> tuple[Destination, ...]:
    """Return the file whose Markdown GitHub Actions shows on the page of a run.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#adding-a-job-summary
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return (Destination(Format.MARKDOWN, summary, append=True),) if summary else ()
