"""Runs the check that the options ask for, writes the reports and returns the exit code of the verdict."""

from __future__ import annotations

import signal
import sys
from typing import Any

from gpudoctor.check.interrupts import once_more, stopping
from gpudoctor.check.run import run
from gpudoctor.cli import failure, live, system
from gpudoctor.cli.destinations import require_writable
from gpudoctor.cli.formats import FOR_PEOPLE
from gpudoctor.cli.settings import GivenOptions, Settings, settle


def examine(given: GivenOptions, config: str | None) -> int:
    """Return the exit code of a check. Raises UsageError for options that cannot be used."""
    system.require_linux("check")
    settings = settle(given, config)
    return failure.guarded(lambda: carry_out(settings), as_json=settings.errors_as_json)


def carry_out(settings: Settings, command: str = "check") -> int:
    """Check, write the report and return the exit code. Raises GpudoctorError if either is impossible."""
    require_writable(settings.destinations)
    sys.unraisablehook = _lost
    for number in stopping():
        signal.signal(number, _stop)
    with live.display(quiet=settings.quiet, report_is_text=settings.main.format in FOR_PEOPLE) as progress:
        examination = run(settings.options, progress)
    from gpudoctor.cli.deliver import deliver  # noqa: PLC0415 -- 5 ms, while the children look

    return deliver(examination, command, settings)


def _lost(lost: Any) -> None:
    """Handle an exception that Python cannot pass on."""
    if isinstance(lost.exc_value, KeyboardInterrupt) and lost.exc_value.args:
        once_more(_stop, lost.exc_value.args[0])
    else:
        sys.__unraisablehook__(lost)


def _stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)
