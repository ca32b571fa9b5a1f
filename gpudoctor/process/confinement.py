"""Starts programs that cannot outlive this process, make no device nodes and leave no core file.

Nothing of ours runs between fork and exec: a `preexec_fn` would copy this interpreter, which takes ten times as long.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

if sys.platform != "win32":  # commands for Linux are also imported on Windows, where they refuse in one sentence
    import fcntl
    import resource

# linux/prctl.h and linux/capability.h
_PR_CAPBSET_DROP = 24
_CAP_MKNOD = 27


class ConfinedProgram(msgspec.Struct, frozen=True):
    """A started program."""

    process: subprocess.Popen[bytes]
    lifeline: int
    """When this descriptor is closed, at the latest when we end in any way, the kernel kills the program."""


def start_confined(argv: Sequence[str], environment: Mapping[str, str] | None, answer: int) -> ConfinedProgram:
    """Start a program that inherits the descriptor `answer` and its standard ones. Raises what Popen raises."""
    results: list[ConfinedProgram | Exception] = []

    def give_up_rights_and_start() -> None:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_MKNOD)
        try:
            results.append(_start_program(argv, environment, answer))
        except Exception as error:  # noqa: BLE001 -- raised below, where the caller is
            results.append(error)

    # capabilities belong to a thread and are inherited from the one that starts the program: ours stay as they are
    thread = threading.Thread(target=give_up_rights_and_start, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # a limit on processes counts threads too
        raise OSError(errno.EAGAIN, str(error)) from None
    thread.join()
    (result,) = results
    if isinstance(result, Exception):
        raise result
    return result


def _start_program(argv: Sequence[str], environment: Mapping[str, str] | None, answer: int) -> ConfinedProgram:
    held, lifeline = os.pipe()
    try:
        with _no_core_file(), _empty_input() as nothing:
            process = subprocess.Popen(
                argv,
                stdin=nothing,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd="/",  # relative entries of PYTHONPATH or LD_LIBRARY_PATH must not mean the user's directory
                pass_fds=(answer, held),
                start_new_session=True,
            )
        _kill_when_closed(held, process.pid)
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(held)
    return ConfinedProgram(process, lifeline)


@contextmanager
def _empty_input() -> Iterator[int]:
    """Yield a descriptor with nothing to read. /dev/null may be missing in a chroot."""
    reading, writing = os.pipe()
    os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)


@contextmanager
def _no_core_file() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def _kill_when_closed(held: int, pid: int) -> None:
    """Have the kernel SIGKILL `pid` when the other end of the pipe that it holds is closed."""
    with suppress(OSError):  # a sandbox that has no such signals
        fcntl.fcntl(held, fcntl.F_SETOWN, pid)
        fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(held, fcntl.F_SETFL, fcntl.fcntl(held, fcntl.F_GETFL) | os.O_ASYNC)
