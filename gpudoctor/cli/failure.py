"""Turns every error of a command into one sentence, or one JSON document, and an exit code; never into a traceback."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import pairwise

from gpudoctor.cli import output
from gpudoctor.crash import crash_sentence
from gpudoctor.errors import GpudoctorError, OutputError
from gpudoctor.exit_codes import CRASHED, USAGE
from gpudoctor.terminal_text import escaped_text


def guarded_exit_code(body: Callable[[], int], *, as_json: bool) -> int:
    """Run `body` and return its exit code. Report any error on standard error and, with `as_json`, as a document on standard output."""
    try:
        return body()
    except KeyboardInterrupt as stop:
        number = stop.args[0] if stop.args else signal.SIGINT
        return _report_failure("interrupted", f"Stopped by {signal.Signals(number).name} before anything was found.", 128 + number, as_json)
    except OutputError as error:
        return _report_failure("output", str(error), USAGE, as_json)
    except GpudoctorError as error:
        return _report_failure("usage", str(error), USAGE, as_json)
    except Exception as error:  # noqa: BLE001 -- the last line of defence
        if refusal := _refusal_sentence(error):
            return _report_failure("usage", refusal, USAGE, as_json)
        return _report_failure("internal", crash_sentence(error), CRASHED, as_json)


def _report_failure(kind: str, sentence: str, exit_code: int, as_json: bool) -> int:  # noqa: FBT001 -- passed on
    output.print_error(f"gpudoctor: {escaped_text(sentence)}")  # a name may have a line break, and the next line would not be ours
    if as_json:
        from gpudoctor.cli.error_document import error_document  # noqa: PLC0415 -- 25 ms, only after an error

        try:
            output.write_output(error_document(kind, sentence, exit_code))
        except OutputError:
            return exit_code  # already reported, or standard output is closed
    return exit_code


def _is_typer_error(error: Exception) -> bool:
    """Return whether Typer refused the command line, if it was loaded: newer Typer has ClickException under a private name."""
    typer = sys.modules.get("typer")
    return typer is not None and isinstance(error, typer.BadParameter.__mro__[2])


def _refusal_sentence(error: Exception) -> str:
    """Return what the user has to change; empty if the error is a defect of ours."""
    if _is_typer_error(error):
        return _click_sentence(error)
    return "The current directory no longer exists; change to another one first." if is_directory_gone(error) else ""


def is_directory_gone(error: Exception) -> bool:
    """Return whether a relative path, or the current directory itself, was asked for after that directory was removed."""
    try:
        os.getcwd()
    except OSError:
        return isinstance(error, FileNotFoundError)
    return False


def _click_sentence(error: Exception) -> str:
    """Return what is wrong with the command line, in Typer's words, and where the help is."""
    said = " ".join(str(error.format_message()).split())  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    return f"{said}{'' if said.endswith(('.', '?')) else '.'} See `{context.command_path if context else 'gpudoctor'} --help`."


def wants_json(arguments: list[str]) -> bool:
    """Return whether the command line seems to ask for JSON; it is not parsed yet."""
    chosen = [word.removeprefix("--format=") for word in arguments if word.startswith("--format=")]
    chosen += [after for word, after in pairwise(arguments) if word == "--format"]
    return "json" in chosen or "--json=-" in arguments or ("--json", "-") in pairwise(arguments)


def flush_output() -> bool:
    """Flush what Typer printed itself, such as help, and return whether it could be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        output.redirect_to_null(1)
    except OSError:
        output.redirect_to_null(1)
        return False
    return True
