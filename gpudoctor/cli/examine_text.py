"""Diagnoses what the files of a command line say, writes the reports and returns the exit code of the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.cli import failure
from gpudoctor.cli.content import examine_files
from gpudoctor.cli.delivery import deliver_reports
from gpudoctor.cli.destinations import require_writable
from gpudoctor.cli.settings import GivenOptions, delivery_of_options, diagnosis_policy
from gpudoctor.matrix_files import open_matrix


def examine_text(files: Sequence[str], given: GivenOptions) -> int:
    """Return the exit code of a diagnosis. Raises UsageError for options that cannot be used."""
    settings = delivery_of_options(given)
    policy = diagnosis_policy(given)

    def carry_out() -> int:
        require_writable(settings.destinations)
        return deliver_reports(examine_files(files, open_matrix(given.compat), policy), "diagnose", settings)

    return failure.guarded_exit_code(carry_out, as_json=settings.errors_as_json)
