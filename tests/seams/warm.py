"""Runs our programs in forks of a process that has imported their modules: imports are two thirds of a short command.

A fork gets the arguments, variables, folder and descriptors that a new process would get, and runs `python -m gpudoctor` or a refresh script.
A new process starts in each twelfth test, where coverage follows it, and where a variable differs that is read before gpudoctor runs.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ_AT_START = ("PYTHON", "COVERAGE_", "LC_", "LANG", "LD_PRELOAD", "LD_AUDIT", "TYPER_", "TZ", "MALLOC_")
"""What the names begin with of variables that Python and the loader read."""
APART = ("gpudoctor.__main__", "gpudoctor.children", "gpudoctor.cli.", "gpudoctor.on_ray")
"""What a fork imports itself: the program and its commands, whose modules register them and read COLUMNS; and what needs Ray."""
OF_OTHERS = ("jinja2", "packaging.requirements", "rich.columns", "rich.markdown", "rich.progress", "rich.table", "typer", "yaml")
"""What gpudoctor imports where it is used."""
OF_REFRESH = ("scripts.refresh.common", "scripts.refresh.index", "pip._internal.commands.download", "pip._internal.network.session")
"""What the scripts that refresh tables import; none of them is a program itself."""
_OURS = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
LONGEST = 120.0
"""Seconds."""
NUMBER = 4
"""Bytes of a process's number or status on the socket."""


def gpudoctor(*arguments: str | bytes, env: Mapping[str, str], cwd: str | os.PathLike[str] = ROOT) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end without standard input. Raises TimeoutExpired."""
    return program("gpudoctor", *arguments, env=env, cwd=cwd)


def program(
    module: str, *arguments: str | bytes, env: Mapping[str, str], cwd: str | os.PathLike[str] = ROOT
) -> subprocess.CompletedProcess[bytes]:
    """Run a program of ours, gpudoctor or "scripts.refresh.torch", as `gpudoctor` does."""
    words, forks = [os.fsdecode(word) for word in arguments], _forks(module.partition(".")[0])
    if _at_start(env) == forks.at_start and not any("\0" in word for word in words):
        return forks.run([module, *words], env, os.fspath(cwd))
    command = (sys.executable, "-m", module, *arguments)
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, timeout=LONGEST, check=False)


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_AT_START)}


class _Forks:
    """The process that has imported the modules of programs in a package; it ends with this one."""

    def __init__(self, package: str) -> None:
        self.at_start = _at_start(_OURS)
        self._one_at_a_time = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), package], env=_OURS, cwd=ROOT, pass_fds=[theirs.fileno()]
            )
        atexit.register(self._end)

    def run(self, words: Sequence[str], env: Mapping[str, str], cwd: str) -> subprocess.CompletedProcess[bytes]:
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        asked = os.memfd_create("asked")
        os.write(asked, json.dumps([words, dict(env), cwd]).encode())
        os.lseek(asked, 0, os.SEEK_SET)
        null = os.open(os.devnull, os.O_RDONLY)
        with self._one_at_a_time:
            socket.send_fds(self._socket, [b"!"], [null, to_out, to_err, asked])
            for one in (null, to_out, to_err, asked):
                os.close(one)
            process = self._number()
            try:
                stdout, stderr = _read(out, err)
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(words, LONGEST) from None
            finally:
                status = self._number()
        return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), stdout, stderr)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def _number(self) -> int:
        return int.from_bytes(self._socket.recv(NUMBER, socket.MSG_WAITALL), "little")


_forks = functools.cache(_Forks)


def _read(*pipes: int) -> tuple[bytes, ...]:
    """All that is written to the pipes. Raises TimeoutError."""
    told, until = dict.fromkeys(pipes, b""), time.monotonic() + LONGEST
    with selectors.DefaultSelector() as open_pipes:
        for pipe in pipes:
            open_pipes.register(pipe, selectors.EVENT_READ)
        while open_pipes.get_map():
            ready = open_pipes.select(until - time.monotonic())
            if time.monotonic() > until:
                raise TimeoutError
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                told[key.fd] += data
                if not data:
                    open_pipes.unregister(key.fd)
                    os.close(key.fd)
    return tuple(told.values())


def _serve(requests: socket.socket) -> str:
    """Fork for each request; returns in the fork, whose descriptors and variables are those of a new process, what it runs."""
    while True:
        message, descriptors, *_ = socket.recv_fds(requests, 1, 4)
        if not message:
            os._exit(0)
        process = os.fork()
        if not process:
            break
        for descriptor in descriptors:
            os.close(descriptor)
        requests.sendall(process.to_bytes(NUMBER, "little"))
        requests.sendall(os.waitpid(process, 0)[1].to_bytes(NUMBER, "little"))
    *standard, asked = descriptors
    for number, one in enumerate(standard):
        os.dup2(one, number)
    with open(asked, encoding="ascii") as file:  # noqa: PTH123 -- a descriptor
        (program, *words), variables, folder = json.load(file)
    os.closerange(3, 1 + max(requests.fileno(), *descriptors))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[1:] = words
    sys.path[0] = os.getcwd()  # noqa: PTH109 -- as Python does
    return str(program)


def _import_all(package: str) -> None:
    sys.path[0] = str(ROOT)
    if package == "gpudoctor":
        importlib.import_module("gpudoctor.cli")._load_msgspec()  # as the program does, without two modules
    modules = (module_info.name for module_info in pkgutil.walk_packages([str(ROOT / "gpudoctor")], "gpudoctor."))
    of_gpudoctor = (*OF_OTHERS, *(name for name in modules if not name.startswith(APART)))
    for name in of_gpudoctor if package == "gpudoctor" else OF_REFRESH:
        importlib.import_module(name)
    gc.freeze()


if __name__ == "__main__":
    _import_all(sys.argv[2])
    runpy.run_module(_serve(socket.socket(fileno=int(sys.argv[1]))), run_name="__main__", alter_sys=True)
