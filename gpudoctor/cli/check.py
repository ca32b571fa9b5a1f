"""`gpudoctor check`: carries out the check, writes its report, and ends as the report says."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from gpudoctor.cli import live, output
from gpudoctor.cli.deliver import deliver

if TYPE_CHECKING:
    from gpudoctor.cli.settings import Settings


def carry_out(settings: Settings, command: str = "check") -> int:
    """The exit code. Raises GpudoctorError where the check cannot be made or its report not be written."""
    from gpudoctor import check  # noqa: PLC0415 -- the options are right before anything is loaded

    output.check(settings.output)
    signal.signal(signal.SIGTERM, _stop)
    with live.watch(quiet=settings.quiet, report_is_text=settings.format == "text") as progress:
        examination = check.run(settings.options, progress)
    return deliver(examination, command, settings)


def _stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)
