"""Runs the check that the options ask for, writes the reports and returns the exit code of the verdict."""

from __future__ import annotations

import signal
import sys
from typing import Any

from gpudoctor.check.interrupts import handle_after_return, stop_signals
from gpudoctor.check.run import examine_machine
from gpudoctor.cli import failure, progress_display, system
from gpudoctor.cli.destinations import require_writable
from gpudoctor.cli.formats import FOR_PEOPLE
from gpudoctor.cli.settings import GivenOptions, Settings, settings_of_options


def examine(given: GivenOptions, config: str | None) -> int:
    """Return the exit code of a check. Raises UsageError for options that cannot be used."""
    system.require_linux("check")
    settings = settings_of_options(given, config)
    return failure.guarded_exit_code(lambda: run_check(settings), as_json=settings.errors_as_json)


def run_check(settings: Settings, command: str = "check") -> int:
    """Check, write the report and return the exit code. Raises GpudoctorError if either is impossible."""
    require_writable(settings.destinations)
    sys.unraisablehook = _handle_lost_exception
    for number in stop_signals():
        signal.signal(number, _raise_interrupt)
    with progress_display.display_for_terminal(quiet=settings.quiet, report_is_text=settings.main.format in FOR_PEOPLE) as progress:
        examination = examine_machine(settings.options, progress)
    from gpudoctor.cli.delivery import deliver_reports  # noqa: PLC0415 -- 5 ms, while the children look

    return deliver_reports(examination, command, settings)


def _handle_lost_exception(lost: Any) -> None:
    """Handle an exception that Python cannot pass on."""
    if isinstance(lost.exc_value, KeyboardInterrupt) and lost.exc_value.args:
        handle_after_return(_raise_interrupt, lost.exc_value.args[0])
    else:
        sys.__unraisablehook__(lost)


def _raise_interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)
