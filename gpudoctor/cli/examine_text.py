"""Diagnoses what the files of a command line say, writes the reports and returns the exit code of the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.cli import failure
from gpudoctor.cli.content import examined
from gpudoctor.cli.deliver import deliver
from gpudoctor.cli.destinations import require_writable
from gpudoctor.cli.settings import GivenOptions, delivery, supposing
from gpudoctor.matrix_files import open_matrix


def examine_text(files: Sequence[str], given: GivenOptions) -> int:
    """Return the exit code of a diagnosis. Raises UsageError for options that cannot be used."""
    settings = delivery(given)
    policy = supposing(given)

    def carry_out() -> int:
        require_writable(settings.destinations)
        return deliver(examined(files, open_matrix(given.compat), policy), "diagnose", settings)

    return failure.guarded(carry_out, as_json=settings.errors_as_json)
