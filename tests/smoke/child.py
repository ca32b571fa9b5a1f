"""Runs the smoke-training child for real, like its parent, decodes each of its events strictly, and loads its modules by path."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import gpudoctor
from gpudoctor.children.channel import decoded
from gpudoctor.children.training import TRAINING
from tests.seams.once import once
from tests.security.traced import trace_in, tracing

CHILD = Path(gpudoctor.__file__).parent / "children" / "train"
SCRIPT = CHILD / "smoke.py"


class Run(NamedTuple):
    """The output of one child, and how it ended."""

    status: int
    events: list[dict[str, Any]]
    marks: list[str]
    output: bytes
    errors: str
    network: tuple[str, ...] | None = None
    """Its system calls with addresses beyond this machine; None if they were not recorded."""

    def all(self, event: str, **facts: object) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == event and facts.items() <= each.items()]

    def one(self, event: str, **facts: object) -> dict[str, Any]:
        found = self.all(event, **facts)
        assert len(found) == 1, (event, facts, found, self.errors[-3000:])
        return found[0]

    def outline(self) -> list[str]:
        """The events in order as "begin training dense CPU:0", without numbers."""
        lines = [
            " ".join(filter(None, (each["event"], each.get("stage"), each.get("network"), each.get("device")))) for each in self.events
        ]
        return [line for line in lines if not line.startswith("number")]


def refuse(token: str) -> None:
    raise AssertionError(f"{token} is not JSON")


def load(name: str) -> ModuleType:
    """The child's module of that name, without a __pycache__ beside it, since the child leaves none."""
    spec = importlib.util.spec_from_file_location(name, CHILD / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def read_to_end(descriptor: int, into: list[bytes]) -> None:
    with os.fdopen(descriptor, "rb") as stream:
        into.append(stream.read())


def run(
    folder: Path,
    *arguments: str,
    patch: str = "",
    settings: dict[str, str] | None = None,
    python: tuple[str, ...] = (),
    closed: bool = False,
    framework: str = "tensorflow",
    interpreter: Path | None = None,
    traced: bool = False,
) -> Run:
    """Run the child from the folder / with `patch` executed before it.

    `closed` starts it without standard input, output and error; `traced` records its system calls of networks where there is strace.
    """
    (folder / "sitecustomize.py").write_text(patch, encoding="utf-8")
    shell = ("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh") if closed else ()
    calls = folder / "calls"
    under = tracing(calls, "network") if traced and shutil.which("strace") else ()
    reader, writer = os.pipe()
    command = [
        *shell,
        *under,
        str(interpreter or sys.executable),
        *python,
        str(SCRIPT),
        "--framework",
        framework,
        "--answer-fd",
        str(writer),
        *arguments,
    ]
    (folder / "temporary").mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(folder), "TMPDIR": str(folder / "temporary"), **(settings or {})}
    answers: list[bytes] = []
    listener = threading.Thread(target=read_to_end, args=(reader, answers))
    listener.start()
    with (folder / "output").open("wb") as output, (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(command, cwd="/", env=environment, stdout=output, stderr=errors, pass_fds=(writer,))
    os.close(writer)
    status = process.wait(timeout=200)
    listener.join()
    lines = answers[0].decode("ascii").splitlines()
    assert [problem for line in answers[0].splitlines() if (problem := decoded(line, TRAINING)[1])] == []
    return Run(
        status,
        [json.loads(line, parse_constant=refuse) for line in lines if not line.startswith("@")],
        [line[1:] for line in lines if line.startswith("@") and line != "@"],
        (folder / "output").read_bytes(),
        (folder / "errors").read_text(encoding="utf-8", errors="backslashreplace"),
        tuple(trace_in(calls).beyond()) if under else None,
    )


def healthy_run(factory: pytest.TempPathFactory, framework: str = "tensorflow", interpreter: Path | None = None) -> tuple[Run, list[str]]:
    """Return a whole training run of level full on the CPU, made once for several tests, and the files that it left in the home folder."""

    def make() -> tuple[Run, list[str]]:
        home = factory.mktemp("home")
        asked = {"framework": framework, "interpreter": interpreter, "settings": {"HOME": str(home)}, "traced": True}
        made = run(factory.mktemp("healthy"), "--devices", "cpu", "--measure", **asked)  # type: ignore[arg-type]
        return made, [str(path) for path in home.rglob("*")]

    return once(factory, f"healthy-{framework}", make)
