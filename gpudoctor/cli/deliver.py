"""Writes a report where it was asked for, in the form that was asked for."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Literal

import msgspec

from gpudoctor.cli import output
from gpudoctor.errors import OutputError

if TYPE_CHECKING:
    from gpudoctor.check import Examination
    from gpudoctor.plan.model import Examination as Supposition
    from gpudoctor.redact import Redactor
    from gpudoctor.report.model import Report
    from gpudoctor.report.page import Look

Format = Literal["text", "json", "oneline", "junit"]


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a report's form and place."""

    format: Format
    output: str | None
    """A file; None is standard output."""
    quiet: bool
    no_color: bool
    identify: bool = False
    """Keep the names of host and user, home folders and addresses where the report leaves the machine."""
    root: str = "/"
    """The tree that was examined."""


def deliver(examination: Examination | Supposition, command: str, settings: Delivery) -> int:
    """Write the report of `examination` and return its exit code; where a file takes it, the verdict goes to standard error."""
    from gpudoctor.report.build import build  # noqa: PLC0415 -- loaded when the children have ended

    stays = settings.format == "text" and settings.output is None and on_terminal()
    named = stays or settings.identify
    redacted = redactor(settings.root, stays=named).struct(examination)
    report = build(redacted if named else _runnable(redacted), command)
    _write(report, settings)
    return report.exit_code


def _runnable(examination: Examination | Supposition) -> Examination | Supposition:
    """A redacted examination whose commands a shell still reads as they were meant."""
    from gpudoctor.redact.shell import runnable  # noqa: PLC0415 -- loaded when the children have ended

    replace = msgspec.structs.replace
    found = examination.diagnosis.findings
    fixes = ([replace(fix, command=runnable(fix.command), verify=runnable(fix.verify)) for fix in one.fixes] for one in found)
    findings = tuple(replace(one, fixes=tuple(spelt)) for one, spelt in zip(found, fixes, strict=True))
    return replace(examination, diagnosis=replace(examination.diagnosis, findings=findings))


def redactor(root: str, *, stays: bool) -> Redactor:
    """What to take out of what is written: secrets always, names unless it `stays` on the user's own screen."""
    from gpudoctor.probe.identity import owner  # noqa: PLC0415 -- loaded when the children have ended
    from gpudoctor.redact import Redactor  # noqa: PLC0415 -- likewise

    return Redactor(None if stays else owner(root, os.environ))


def on_terminal() -> bool:
    """Whether standard output is the user's own screen."""
    return sys.stdout is not None and sys.stdout.isatty()


def _write(report: Report, settings: Delivery) -> None:
    if settings.output is None:
        output.write(_rendered(report, settings))
        return
    try:
        output.write(_rendered(report, settings), settings.output)
    except OutputError:
        _say_verdict(report, settings)
        raise
    _say_verdict(report, settings)


def _say_verdict(report: Report, settings: Delivery) -> None:
    if not settings.quiet:
        from gpudoctor.report import oneline  # noqa: PLC0415 -- rarely needed

        output.say(oneline.render(report))


def _rendered(report: Report, settings: Delivery) -> bytes:
    if settings.format == "json":
        from gpudoctor.report import document  # noqa: PLC0415 -- one of four

        return document.report(report)
    if settings.format == "junit":
        from gpudoctor.report import junit  # noqa: PLC0415 -- one of four

        return junit.render(report)
    if settings.format == "oneline":
        from gpudoctor.report import oneline  # noqa: PLC0415 -- one of four

        return f"{oneline.render(report)}\n".encode("ascii")
    from gpudoctor.report import terminal  # noqa: PLC0415 -- one of four

    seen = look(no_color=settings.no_color, to_stdout=settings.output is None)
    return terminal.render(report, seen).encode("ascii" if seen.plain else "utf-8", "backslashreplace")


def look(*, no_color: bool, to_stdout: bool = True) -> Look:
    """What text is shown on: a terminal's width and colour, or 80 columns without; ASCII where standard output is not UTF-8."""
    from gpudoctor.report.page import Look  # noqa: PLC0415 -- not for JSON

    if not to_stdout or sys.stdout is None:
        return Look()
    plain = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    terminal = sys.stdout.isatty()
    width = min(max(shutil.get_terminal_size().columns, 40), 100) if terminal else 80
    able = terminal and os.environ.get("TERM", "dumb") != "dumb"
    colour = (able or bool(os.environ.get("FORCE_COLOR"))) and not no_color and not os.environ.get("NO_COLOR")
    return Look(width=width, colour=colour, plain=plain)
