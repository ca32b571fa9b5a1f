"""Runs the real command in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator

from gpudoctor.report.schema import document_schema
from tests.seams import warm

ROOT = Path(__file__).parents[2]
GPUDOCTOR = (sys.executable, "-m", "gpudoctor")
LOOK = ("check", "--no-smoke", "--python", sys.executable)
"""A check that is quick and has a certain target."""


def environment(**changes: str | None) -> dict[str, str]:
    """Ours, without what would change how the command shows things, with `changes`; None removes."""
    unwanted = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "GPUDOCTOR_PYTHON", "GPUDOCTOR_DEBUG", "PYTHONIOENCODING"}
    merged: dict[str, str | None] = {**{name: value for name, value in os.environ.items() if name not in unwanted}, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def run(
    *arguments: str | bytes, shell_redirect: str = "", env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end; `shell_redirect` such as ">&-" is applied by sh."""
    if not shell_redirect and options.keys() <= {"cwd"}:
        return warm.gpudoctor(*arguments, env=environment() if env is None else env, **options)
    command: tuple[str | bytes, ...] = (*GPUDOCTOR, *arguments)
    if shell_redirect:
        command = ("sh", "-c", f'exec "$0" "$@" {shell_redirect}', *command)
    return subprocess.run(
        command,
        env=environment() if env is None else env,
        capture_output=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        **{"cwd": ROOT, **options},
    )


def in_terminal(*arguments: str, stream: Literal["stdout", "stderr"], other: Path = Path(os.devnull), **changes: str) -> tuple[float, str]:
    """Run the command with one stream on a terminal and the other in a file: seconds until it said something there (0: never), and all of it."""
    master, slave = pty.openpty()
    name = {"stdout": "stderr", "stderr": "stdout"}[stream]
    command, env = (*GPUDOCTOR, *arguments), environment(**{"TERM": "xterm-256color", **changes})
    began = time.monotonic()
    with other.open("wb") as file:
        streams: dict[str, Any] = {stream: slave, name: file}
        process = subprocess.Popen(command, cwd=ROOT, env=env, **streams)
    with process:
        os.close(slave)
        first, told = 0.0, b""
        while data := _read(master):
            first = first or time.monotonic() - began
            told += data
    os.close(master)
    return first, told.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux's end of file on a terminal whose other end is closed
        return b""


def document(name: str, written: bytes) -> dict[str, Any]:
    """The one JSON document that `written` is, valid by its published schema."""
    read: dict[str, Any] = json.loads(written)
    _validator(name).validate(read)
    return read


@functools.cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(document_schema(name))


def sentence(stderr: bytes) -> str:
    """The one line that `stderr` is."""
    text = stderr.decode()
    assert text.startswith("gpudoctor: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    return text
