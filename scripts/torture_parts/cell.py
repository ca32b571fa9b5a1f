"""What the parts of scripts/torture have in common: a cell, its result, and the check that it runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError

from scripts.torture_parts.pace import Pace, start_of

GPUDOCTOR: Final = str(Path(sys.executable).parent / "gpudoctor")
CHECK: Final = (GPUDOCTOR, "check", "--node", "--format", "json")
TIMEOUT: Final = 4.0
"""Seconds that a check may take by itself (--timeout)."""
LIMIT: Final = 12.0
"""Seconds for a cell: the check's own limit, and what its end may take. These and the other times suppose a quiet machine (`Workplace.patience`)."""


@dataclass(frozen=True)
class Result:
    """What gpudoctor did in a cell; `trouble` is why the cell does not hold, empty if it does."""

    trouble: str = ""
    exit_code: int = 0
    verdict: str = ""
    causes: tuple[str, ...] = ()
    seconds: float = 0.0
    report: Mapping[str, Any] = field(default_factory=dict, repr=False)
    void: tuple[str, ...] = ()
    """Troubles of earlier tries, on a machine that had become slower than supposed."""

    def but(self, trouble: str) -> Result:
        """Return this result with a trouble, unless it has one."""
        return self if self.trouble else replace(self, trouble=trouble)


@dataclass(frozen=True)
class Case:
    """One cell: what is made to fail, how, and the function that tries it. The table counts by `kind`, otherwise by the fault's first word."""

    subject: str
    fault: str
    run: Callable[[], Result]
    kind: str = ""
    waits: bool = False
    """Whether the check waits for its deadline: other cells then run beside it."""


@dataclass(frozen=True)
class Workplace:
    """Where cells are run: an empty folder, whether only a sample is asked for, and the only subjects to try (all, if none)."""

    folder: Path
    short: bool = False
    only: tuple[str, ...] = ()

    @cached_property
    def validator(self) -> Draft202012Validator:
        """Return a validator of reports by their published schema; made once, since that takes a hundred times as long as its use."""
        return Draft202012Validator(json.loads(subprocess.run([GPUDOCTOR, "schema"], capture_output=True, check=True).stdout))

    @cached_property
    def environ(self) -> dict[str, str]:
        """Return this process's environment without what steers drivers, Python or gpudoctor."""
        return {key: value for key, value in os.environ.items() if not key.startswith(("CUDA_", "PYTHON", "GPUDOCTOR_", "FAKE_"))}

    @cached_property
    def pace(self) -> Pace:
        """Return how slow the machine is, by a check of an empty one."""
        return Pace(partial(start_of, (*CHECK, "--root", str(emptied(self.folder / "empty")))))

    def patience(self, seconds: float) -> float:
        """Return how long may take now what takes so many seconds at most on a quiet machine."""
        return seconds * self.pace.now()

    def check(self, environ: Mapping[str, str], command: Sequence[str] = CHECK, timeout: float = TIMEOUT, limit: float = LIMIT) -> Result:
        """Run a check with its own timeout; it must end in time with a valid report and the exit code of a verdict."""
        words, limit = (*command, "--timeout", f"{self.patience(timeout):.1f}"), self.patience(limit)
        began = time.monotonic()
        try:
            done = subprocess.run(words, env=environ, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Result(f"still runs after {limit:.0f} s", exit_code=-1, seconds=time.monotonic() - began)
        seconds = time.monotonic() - began
        try:
            report = json.loads(done.stdout)
            self.validator.validate(report)
        except (ValueError, ValidationError) as error:
            return Result(f"no valid report: {str(error)[:200]}", done.returncode, seconds=seconds)
        causes = tuple(one["name"] for one in report["findings"] if one["severity"] != "note")
        trouble = "" if done.returncode in {0, 1, 3} else f"exit code {done.returncode}"
        return Result(trouble, done.returncode, report["verdict"], causes, seconds, report)


def emptied(folder: Path) -> Path:
    """Return an empty folder in the place of one that an earlier try may have left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def device_nodes() -> set[str]:
    """Return the device files of this machine but terminals, which others open."""
    entries = (Path(folder) / name for folder, _, names in os.walk("/dev") if folder != "/dev/pts" for name in names)
    return {str(path) for path in entries if path.is_char_device() or path.is_block_device()}


def processes(mark: str) -> list[int]:
    """Return which processes have the mark in their environment. Each may end while it is looked at."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return sorted(found)


def left_process(mark: str) -> str:
    """Return which process still has the mark in its environment; empty if none has."""
    return next((f"process {number} is left" for number in processes(mark)), "")
