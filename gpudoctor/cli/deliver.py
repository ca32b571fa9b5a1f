"""Writes a report where it was asked for, in the form that was asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, NoReturn

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.formats import Format
from gpudoctor.cli.look import look, on_terminal, redactor
from gpudoctor.cli.settings import Delivery
from gpudoctor.examination import Examination
from gpudoctor.redact.shell import runnable
from gpudoctor.report.build import build
from gpudoctor.report.model import Report
from gpudoctor.snapshot import readable


def deliver(examination: Examination, command: str, settings: Delivery) -> int:
    """Write the report of `examination` and return its exit code; where a file takes it, the verdict goes to standard error."""
    stays = settings.format is Format.TEXT and settings.output is None and on_terminal()
    named = stays or settings.identify
    clean = redactor(settings.root, stays=named)
    redacted = clean.struct(examination)
    argv = ("gpudoctor", *(clean.text(readable(word)) for word in sys.argv[1:]))
    report = build(redacted if named else _runnable(redacted), command, argv)
    _write(report, settings)
    return report.exit_code


def _runnable(examination: Examination) -> Examination:
    """Return a redacted examination whose commands a shell still reads as they were meant."""
    replace = msgspec.structs.replace
    found = examination.diagnosis.findings
    fixes = ([replace(fix, command=runnable(fix.command), verify=runnable(fix.verify)) for fix in one.fixes] for one in found)
    findings = tuple(replace(one, fixes=tuple(spelt)) for one, spelt in zip(found, fixes, strict=True))
    return replace(examination, diagnosis=replace(examination.diagnosis, findings=findings))


def _write(report: Report, settings: Delivery) -> None:
    if settings.output is None:
        output.write(_rendered(report, settings))
        return
    try:
        output.write(_rendered(report, settings), settings.output)
    finally:
        if not settings.quiet:
            output.say(_writer(Format.ONELINE).render(report))


_WRITERS = {Format.TEXT: "terminal", Format.JSON: "document", Format.ONELINE: "oneline", Format.JUNIT: "junit"}


def _writer(form: Format) -> Any:
    """Return the module that writes a form; only the one that is asked for is imported: the terminal's takes 6 ms."""
    return import_module(f"gpudoctor.report.{_WRITERS[form]}")


def _rendered(report: Report, settings: Delivery) -> bytes:
    writer, written = _writer(settings.format), b""
    match settings.format:
        case Format.TEXT:
            shown = look(no_color=settings.no_color, to_stdout=settings.output is None)
            written = writer.render(report, shown).encode("ascii" if shown.plain else "utf-8", "backslashreplace")
        case Format.JSON:
            written = writer.report(report)
        case Format.ONELINE:
            written = f"{writer.render(report)}\n".encode("ascii")
        case Format.JUNIT:
            written = writer.render(report)
        case form:
            assert_never(form)
    return written


def assert_never(value: NoReturn) -> NoReturn:
    """Fail; a type checker sees that nothing comes here. The standard library has it from Python 3.11 on."""
    raise AssertionError(value)
