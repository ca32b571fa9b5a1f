"""Finds the reports in what a user names: files, folders, JSON lines, tars, gzip and zstd, also one within another.

What is in there is foreign. Sizes are bounded, links and devices are never opened, and what cannot be read is told and passed over.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from gpudoctor.errors import UsageError
from gpudoctor.regular_files import READ_FLAGS, refuse_own_pipe
from gpudoctor.report_files.contents import reports_in
from gpudoctor.report_files.read_budget import ReadBudget, TooMuchError
from gpudoctor.report_files.report_input import ReportInput, unfollowed_input, unreadable_input

__all__ = ["ReportInput", "report_inputs"]


def report_inputs(named: Iterable[str]) -> Iterator[ReportInput]:
    """Yield what is in each file and folder, a folder in alphabetical order. Raises UsageError for a name that cannot be read at all."""
    budget = ReadBudget()
    name = ""
    try:
        for name in named:
            yield from _inputs_of_name(name, budget)
    except TooMuchError as error:
        yield ReportInput(source=name, kind="too-large", reason=f"{error}; what follows was not read")


def _inputs_of_name(name: str, budget: ReadBudget) -> Iterator[ReportInput]:
    if name == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("Standard input is a terminal; pipe reports to it, or name files or a folder.")
        _refuse_own_pipe(0, "Standard input")
        yield from reports_in(sys.stdin.buffer, "standard input", "", budget)
    elif os.path.isdir(name):
        yield from _inputs_in_folder(name, budget)
    else:
        yield from _inputs_in_file(name, budget, named=True)


def _inputs_in_folder(folder: str, budget: ReadBudget) -> Iterator[ReportInput]:
    """Yield what is in all files below a folder; hidden ones are passed over."""
    for place, folders, files in os.walk(folder, onerror=_refuse_folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        files.sort(reverse=True)
        while files:  # os.walk needs the list no more, and 100,000 names take 7 MB
            file = files.pop()
            if not file.startswith("."):
                yield from _inputs_in_file(os.path.join(place, file), budget, named=False)


def _refuse_folder(error: OSError) -> None:
    raise UsageError(f"The folder {error.filename} cannot be read: {error.strerror}.") from None


def _inputs_in_file(file: str, budget: ReadBudget, *, named: bool) -> Iterator[ReportInput]:
    """Yield what is in a file; one that the user named may be a link or a pipe."""
    if not named and not _is_regular_file(file):
        yield unfollowed_input(file, file)
        return
    try:
        descriptor = os.open(file, READ_FLAGS if not named else READ_FLAGS & ~getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        why = str(error.strerror) if isinstance(error, OSError) else "its name contains a null character"
        if named:
            raise UsageError(f"{file} cannot be read: {why}; name reports or a folder of them.") from None
        yield unreadable_input(file, file, f"it cannot be read: {why}")
        return
    with cast("BinaryIO", os.fdopen(descriptor, "rb", buffering=0)) as opened:
        if stat.S_ISCHR(os.fstat(descriptor).st_mode) or stat.S_ISBLK(os.fstat(descriptor).st_mode):
            raise UsageError(f"{file} is a device; name reports or a folder of them.")
        _refuse_own_pipe(descriptor, file)
        yield from reports_in(opened, file, file, budget)


def _refuse_own_pipe(descriptor: int, name: str) -> None:
    try:
        refuse_own_pipe(descriptor)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}; name reports or a folder of them.") from None


def _is_regular_file(file: str) -> bool:
    return os.path.isfile(file) and not os.path.islink(file)
