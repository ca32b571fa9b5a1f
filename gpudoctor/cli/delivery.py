"""Writes each requested report, in its format, to its destination."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.destinations import Destination
from gpudoctor.cli.formats import FOR_PEOPLE, Format
from gpudoctor.cli.screen import is_terminal, look_of_output, redactor_for_output
from gpudoctor.cli.settings import Delivery
from gpudoctor.errors import OutputError, UnfinishedError
from gpudoctor.examination import Examination
from gpudoctor.redact.shell import runnable_command
from gpudoctor.report import fallback_text
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.snapshot import printable_text


def deliver_reports(examination: Examination, command: str, settings: Delivery) -> int:
    """Write the reports of `examination` and return its exit code. If the main report goes to a file, the verdict goes to standard error.

    Raises the first error of writing a report, after writing the others: OutputError, or any where our code crashed.
    """

    @cache
    def report(named: bool) -> Report:  # noqa: FBT001 -- the key of the cache
        return redacted_report(examination, command, settings.root, named=named)

    failures = [
        error
        for destination in settings.destinations
        if (error := _write_report(report(_keeps_names(destination, settings)), destination, settings))
    ]
    if settings.main.file is not None and not settings.quiet:
        output.print_error(_writer_module(Format.ONELINE).render(report(settings.identify)))
    if failures:
        raise failures[0]
    return report(settings.identify).exit_code


def _keeps_names(destination: Destination, settings: Delivery) -> bool:
    """Return whether a report keeps names of people and machines: on a terminal, or with --identify."""
    return settings.identify or (destination.format is Format.TEXT and destination.file is None and is_terminal())


def redacted_report(examination: Examination, command: str, root: str, *, named: bool) -> Report:
    """Return the report of an examination without secrets and, unless `named`, without names of people and machines."""
    clean = redactor_for_output(root, stays=named)
    redacted = clean.struct(examination)
    argv = ("gpudoctor", *(clean.text(printable_text(word)) for word in sys.argv[1:]))
    return build_report(redacted if named else runnable_examination(redacted), command, argv)


def runnable_examination(examination: Examination) -> Examination:
    """Return a redacted examination whose commands a shell still parses correctly."""
    replace = msgspec.structs.replace
    found = examination.diagnosis.findings
    fixes = (
        [replace(fix, command=runnable_command(fix.command), verify=runnable_command(fix.verify)) for fix in finding.fixes]
        for finding in found
    )
    findings = tuple(replace(finding, fixes=tuple(spelt)) for finding, spelt in zip(found, fixes, strict=True))
    return replace(examination, diagnosis=replace(examination.diagnosis, findings=findings))


def _write_report(report: Report, destination: Destination, settings: Delivery) -> Exception | None:
    """Write a report; return what prevented all or some of it."""
    failure = None
    try:
        written = _rendered_report(report, destination, settings)
    except UnfinishedError as unfinished:
        written, failure = unfinished.text.encode("ascii", "backslashreplace"), unfinished.crash
    except Exception as crash:  # noqa: BLE001 -- a defect in one format must not hide the others, nor what was found
        if destination.format not in FOR_PEOPLE:
            return crash
        written, failure = fallback_text.render(report, crash).encode("ascii"), crash
    try:
        output.write_output(written, destination.file, append=destination.append)
    except OutputError as error:
        return error
    return failure


_WRITER_MODULES = {Format.TEXT: "terminal", Format.JSON: "document"}
"""The modules that write a format, if their name is not the format's."""


def _writer_module(form: Format) -> Any:
    """Return the module that writes a format, imported only when asked for: the terminal's takes 6 ms."""
    return import_module(f"gpudoctor.report.{_WRITER_MODULES.get(form, form.value)}")


def _rendered_report(report: Report, destination: Destination, settings: Delivery) -> bytes:
    writer, written = _writer_module(destination.format), b""
    match destination.format:
        case Format.TEXT:
            shown = look_of_output(no_color=settings.no_color, verbose=settings.verbose, to_stdout=destination.file is None)
            written = shown.encoded_text(writer.render(report, shown))
        case Format.JSON:
            written = writer.encode_document(report)
        case Format.ONELINE:
            written = f"{writer.render(report)}\n".encode("ascii")
        case Format.JUNIT | Format.SARIF:
            written = writer.render(report)
        case Format.MARKDOWN | Format.GITHUB:
            written = writer.render(report).encode("utf-8", "backslashreplace")
        case form:
            fail_unreachable(form)
    return written


def fail_unreachable(value: NoReturn) -> NoReturn:
    """Fail: a type checker proves that this is never reached. typing has it since Python 3.11."""
    raise AssertionError(value)
