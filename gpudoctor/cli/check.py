"""`gpudoctor check`: carries out the check, writes its report, and ends as the report says."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli import live, output
from gpudoctor.errors import OutputError

if TYPE_CHECKING:
    from gpudoctor.cli.settings import Settings
    from gpudoctor.report.model import Report
    from gpudoctor.report.page import Look


def carry_out(settings: Settings) -> int:
    """The exit code. Raises GpudoctorError where the check cannot be made or its report not be written."""
    from gpudoctor import check  # noqa: PLC0415 -- the options are right before anything is loaded

    output.check(settings.output)
    signal.signal(signal.SIGTERM, _stop)
    with live.watch(quiet=settings.quiet, report_is_text=settings.format == "text") as progress:
        examination = check.run(settings.options, progress)
    from gpudoctor.report.build import build  # noqa: PLC0415 -- loaded when the children have ended

    report = build(examination)
    _deliver(report, settings)
    return report.exit_code


def _stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)


def _deliver(report: Report, settings: Settings) -> None:
    """Write the report; where a file takes it, the verdict goes to standard error."""
    if settings.output is None:
        output.write(_rendered(report, settings))
        return
    try:
        output.write(_rendered(report, settings), settings.output)
    except OutputError:
        _say_verdict(report, settings)
        raise
    _say_verdict(report, settings)


def _say_verdict(report: Report, settings: Settings) -> None:
    if not settings.quiet:
        from gpudoctor.report import oneline  # noqa: PLC0415 -- rarely needed

        output.say(oneline.render(report))


def _rendered(report: Report, settings: Settings) -> bytes:
    if settings.format == "json":
        from gpudoctor.report import document  # noqa: PLC0415 -- one of four

        return document.report(report)
    if settings.format == "junit":
        from gpudoctor.report import junit  # noqa: PLC0415 -- one of four

        return junit.render(report)
    if settings.format == "oneline":
        from gpudoctor.report import oneline  # noqa: PLC0415 -- one of four

        return f"{oneline.render(report)}\n".encode("ascii")
    from gpudoctor.report import terminal  # noqa: PLC0415 -- loads rich

    seen = look(no_color=settings.no_color, to_stdout=settings.output is None)
    return terminal.render(report, seen).encode("ascii" if seen.plain else "utf-8", "backslashreplace")


def look(*, no_color: bool, to_stdout: bool = True) -> Look:
    """What text is shown on: a terminal's width and colour, or 80 columns without; ASCII where standard output is not UTF-8."""
    from gpudoctor.report.page import Look  # noqa: PLC0415 -- loads rich

    if not to_stdout or sys.stdout is None:
        return Look()
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    terminal = sys.stdout.isatty()
    width = min(max(shutil.get_terminal_size().columns, 40), 100) if terminal else 80
    able = terminal and os.environ.get("TERM", "dumb") != "dumb"
    colour = (able or bool(os.environ.get("FORCE_COLOR"))) and not no_color and not os.environ.get("NO_COLOR")
    return Look(width=width, colour=colour, plain=plain)
