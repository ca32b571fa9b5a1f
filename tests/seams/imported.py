"""An interpreter that has imported a framework: each training that it runs is a fork, since the import is most of what a short one takes.

    PYTHON imported.py LISTENING-DESCRIPTOR MODULE...

A fork gets the arguments, variables, folder and descriptors that a new process would get, and runs its sitecustomize. It outlives one that is killed.
Other programs are run by the real interpreter.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLIENT = """#!{python} -ISs
import json, os, socket, sys
if os.path.basename(os.path.dirname(sys.argv[1])) != "train":
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
asked = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
answers = int(sys.argv[sys.argv.index("--answer-fd") + 1])
with socket.socket(socket.AF_UNIX) as forks:
    forks.connect({address!r})
    socket.send_fds(forks, [b"%9d" % len(asked)], [0, 1, 2, answers])
    forks.sendall(asked)
    status = int(forks.recv(9))
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)
"""
LENGTH = 9
"""Bytes of a length or an exit status on the socket."""


@contextmanager
def imported(python: Path, place: Path, *modules: str, search: str = "") -> Iterator[Path]:
    """Yield the path of such an interpreter, which also finds what is in the folder `search`. It lies in an empty folder `place`."""
    address, client = str(place / "forks"), place / "python"
    client.write_text(CLIENT.format(python=sys.executable, real=str(python), address=address))
    client.chmod(0o755)
    variables = {**os.environ, **({"PYTHONPATH": search} if search else {})}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        number = listener.fileno()
        process = subprocess.Popen([python, __file__, str(number), *modules], env=variables, pass_fds=[number])
    with process:
        yield client
        process.kill()


def _serve(listener: socket.socket) -> list[str]:
    """Fork for each program; returns in the fork, as what the program is to be, with its words."""
    while True:
        connection, _ = listener.accept()
        length, descriptors, *_ = socket.recv_fds(connection, LENGTH, 4)
        asked = connection.recv(int(length), socket.MSG_WAITALL)
        process = os.fork()
        if not process:
            return _become(descriptors, *json.loads(asked))
        for descriptor in descriptors:
            os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(b"%d" % status)
        connection.close()


def _become(descriptors: list[int], words: list[str], variables: dict[str, str], folder: str) -> list[str]:
    *standard, answers = descriptors
    wanted = int(words[words.index("--answer-fd") + 1])
    for number, one in enumerate(standard):
        os.dup2(one, number)
    os.dup2(answers, wanted)
    os.closerange(3, wanted)
    os.closerange(wanted + 1, 1 + max(wanted, *descriptors))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = [entry for entry in variables.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.orig_argv[1:] = words
    return words


def main(number: str, *modules: str) -> None:
    """Import the modules, and run programs until this process is killed."""
    sys.path.pop(0)
    for module in modules:
        __import__(module)
    sys.argv = _serve(socket.socket(fileno=int(number)))
    sys.modules.pop("sitecustomize", None)
    with suppress(ImportError):
        __import__("sitecustomize")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
