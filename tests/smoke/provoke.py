"""Runs the real command on a framework that is broken from outside, and checks what it leaves behind."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.command import GPUDOCTOR, document, environment
from tests.machines.build import ONLY_IN_TRAINING

PLACES = ("HOME", "TMPDIR", "PWD")
"""Where a program may leave files: each is a new folder; the command starts in PWD."""
UNSET = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "PYTHONPATH", "XLA_FLAGS", "JAX_PLATFORMS", "CUDA_VISIBLE_DEVICES")
_numbers = itertools.count()


class Provoked(NamedTuple):
    """How the command ended."""

    code: int
    report: dict[str, Any]
    left: list[str]
    """Processes that outlived it and files that were not there before."""
    peak: int
    """Peak bytes of its own process."""
    seconds: float

    @property
    def smoke(self) -> dict[str, Any]:
        (smoke,) = self.report["snapshot"]["smoke"]
        return dict(smoke)

    @property
    def ended(self) -> list[tuple[str, str]]:
        """The stages that failed, and how each ended."""
        return [(stage["name"], stage["state"]) for stage in self.smoke["stages"] if stage["state"] != "done"]

    @property
    def findings(self) -> list[tuple[str, str]]:
        """Code and name of the root causes and the findings beneath them, without notes."""
        return [(one["code"], one["name"]) for one in self.report["findings"] if one["severity"] != "note"]

    @property
    def fixes(self) -> list[tuple[str, str]]:
        """Kind and command of the fixes of the root cause."""
        root = next(one for one in self.report["findings"] if one["severity"] != "note")
        return [(fix["kind"], fix["command"]) for fix in root["fixes"]]

    @property
    def message(self) -> str:
        """The message of the root cause."""
        return str(next(one["message"] for one in self.report["findings"] if one["severity"] != "note"))


def provoke(
    place: Path,
    patch: str,
    *arguments: str,
    framework: str = "tensorflow",
    python: Path | None = None,
    command: tuple[str, ...] = ("smoke", "--allow-cpu"),
    gpudoctor: tuple[str, ...] = GPUDOCTOR,
    settings: Mapping[str, str] | None = None,
    meanwhile: Callable[[subprocess.Popen[bytes], str], None] | None = None,
) -> Provoked:
    """Run `command` with `patch` executed before the training's own first line; `meanwhile` gets the process and its mark."""
    mark = f"{os.getpid()}-{next(_numbers)}"
    folders = {name: place / name.lower() for name in PLACES}
    for folder in folders.values():
        folder.mkdir()
    (place / "patch").mkdir()
    (place / "patch" / "sitecustomize.py").write_text(ONLY_IN_TRAINING + textwrap.indent(patch or "pass", "    "))
    variables = environment(
        **dict.fromkeys(UNSET),
        **{name: str(folder) for name, folder in folders.items()},
        COVERAGE_PROCESS_CONFIG=None,
        GPUDOCTOR_TEST_MARK=mark,
    ) | {"PYTHONPATH": str(place / "patch"), **(settings or {})}
    words = (*gpudoctor, *command, "--framework", framework, "--python", str(python or sys.executable), "--format", "json", *arguments)
    began = time.monotonic()
    with (place / "report").open("wb") as output, (place / "errors").open("wb") as errors:
        process = subprocess.Popen(words, cwd=folders["PWD"], env=variables, stdout=output, stderr=errors, start_new_session=True)
        if meanwhile:
            meanwhile(process, mark)
        peak = _watched(process)
    seconds = time.monotonic() - began
    report = document("report", (place / "report").read_bytes())
    assert (place / "errors").read_bytes() == b""
    assert process.returncode == report["exit_code"]
    files = [str(path) for folder in folders.values() for path in folder.rglob("*")]
    return Provoked(process.returncode, report, [*marked(mark), *files], peak, seconds)


def _watched(process: subprocess.Popen[bytes], limit: float = 200) -> int:
    """Wait for the process and return its peak memory in bytes, by the last sample."""
    peak, until = 0, time.monotonic() + limit
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            status = ""
        peak = max([peak, *(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))])
        if time.monotonic() > until:
            process.kill()
        time.sleep(0.02)
    return peak


def _carries(process: Path, mark: bytes) -> bool:
    try:
        return process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def marked(mark: str) -> list[str]:
    """The processes whose environment holds `mark`."""
    return [process.name for process in Path("/proc").iterdir() if _carries(process, f"GPUDOCTOR_TEST_MARK={mark}".encode())]
