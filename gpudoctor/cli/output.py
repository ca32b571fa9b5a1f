"""Writes to standard output, standard error and files. A closed pipe is no error; any other failure is one sentence."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable

from gpudoctor.cli import new_file
from gpudoctor.errors import OutputError
from gpudoctor.terminal_text import escaped_text

_SAFE_FLAGS = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening a file to write; Windows has only the last one."""


_STANDARD_OUTPUT = frozenset(("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))


def file_named(name: str | None) -> str | None:
    """Return the file that an option names; None for standard output, by whatever name."""
    return None if name in _STANDARD_OUTPUT else name


def hold_descriptors() -> None:
    """Open /dev/null for closed standard streams, or a file or pipe of ours would get their numbers."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203 -- three rounds
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def print_error(text: str) -> None:
    """Write a line to standard error, or several, in letters that no terminal obeys; ignore a failure."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write("\n".join((*map(escaped_text, text.split("\n")), "")))
        sys.stderr.flush()
    except (OSError, ValueError):
        redirect_to_null(2)


def redirect_to_null(descriptor: int) -> None:
    """Redirect a broken stream to /dev/null, or Python would complain at exit about buffered text."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def require_writable(file: str | None, *, append: bool = False) -> None:
    """Raise OutputError now if `write_output` would raise it later."""
    if file is None:
        _require_stdout()
        return
    folder = os.path.dirname(file) or "."
    if os.path.islink(file):
        raise OutputError(f"{file} is a symbolic link and would not be followed; name the file itself, or use -o - for standard output.")
    if os.path.isdir(file):
        raise OutputError(f"{file} is a folder; name a file in it.")
    if not os.path.isdir(folder):
        raise OutputError(f"{folder} is not a folder; create it first, or name another file than {os.path.basename(file)}.")
    if _is_foreign_pipe(file):
        raise OutputError(f"{file} is a named pipe of another user, who would get the report; name a file or a pipe of your own.")
    if _is_special(file) or (append and os.path.exists(file)):
        if not os.access(file, os.W_OK):
            raise OutputError(f"{file} cannot be written to; name another file.")
        return
    try:
        new_file.try_to_create(file)
    except OSError as error:
        raise OutputError(f"No file can be created in the folder {folder} ({error.strerror}); name a file in another folder.") from None


def _require_stdout() -> None:
    if sys.stdout is None:
        raise OutputError("Standard output is closed; open it, or write the report to a file with -o FILE.")


def write_output(data: bytes | Iterable[bytes], file: str | None = None, *, append: bool = False) -> None:
    """Write all of `data`, or of its pieces. Raises OutputError; a closed pipe is no error."""
    if file is None:
        _require_stdout()
        where = "standard output"
    else:
        where = file
    try:
        if file is None:
            _write_all(1, data)
        elif append:
            _write_existing(file, data, os.O_APPEND | os.O_CREAT)
        elif _is_special(file):
            _write_existing(file, data)
        else:
            new_file.replace_file(file, lambda descriptor: _write_all(descriptor, data))
    except BrokenPipeError:
        return
    except OSError as error:
        raise OutputError(f"The report could not be written to {where}: {error.strerror}.") from None


def _write_all(descriptor: int, data: bytes | Iterable[bytes]) -> None:
    for piece in (data,) if isinstance(data, bytes) else data:
        unsent = memoryview(piece)
        while unsent:
            try:
                unsent = unsent[os.write(descriptor, unsent) :]
            except BlockingIOError:  # noqa: PERF203 -- a pipe that somebody set non-blocking
                select.select([], [descriptor], [])


def _is_special(file: str) -> bool:
    """Return whether `file` is a device, pipe or socket, which must not be replaced by a file."""
    try:
        return not stat.S_ISREG(os.lstat(file).st_mode)
    except OSError:
        return False


def _is_foreign_pipe(file: str) -> bool:
    try:
        found = os.lstat(file)
    except OSError:
        return False
    return stat.S_ISFIFO(found.st_mode) and found.st_uid != os.geteuid()


def _write_existing(file: str, data: bytes | Iterable[bytes], how: int = 0) -> None:
    descriptor = os.open(file, _SAFE_FLAGS | how, 0o600)
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)
