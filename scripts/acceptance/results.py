"""The results of gpu_acceptance: parts with a deadline each, whose results are written as soon as they are known."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from scripts.acceptance import nvidia_smi

ROOT: Final = Path(__file__).resolve().parents[2]
UUID: Final = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
NO_FRAMEWORK: Final = "no framework in the examined environment can train"
ENDING: Final = 5.0
"""Seconds that gpudoctor has after its own deadline to write its report."""


class NoDocumentError(Exception):
    """A check wrote no JSON document."""


@dataclass(frozen=True)
class Result:
    """One claim: `state` is held, failed, or skipped with the reason in `detail`."""

    what: str
    state: str
    detail: str = ""


@dataclass
class Acceptance:
    """Everything measured on this machine. Times are in seconds."""

    python: str
    directory: Path
    limit: float = 470.0
    """For all parts together."""
    results: list[Result] = field(default_factory=list)
    facts: list[nvidia_smi.Fact] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """How long things took: each part, each kind of check."""
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The documents of the checks at each level, by level and framework."""
    crashes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()
        self._until = self._began + self.limit

    @property
    def left(self) -> float:
        """Return the seconds left for the current part."""
        return self._until - time.monotonic()

    def part(self, what: str, seconds: float, do: Callable[..., object], *arguments: object) -> None:
        """Run one part for at most `seconds`. An exception fails this part only."""
        whole = self._began + self.limit
        if whole - time.monotonic() < min(seconds, max(3 * ENDING, seconds / 3)):
            self.skip(what, f"none of the {self.limit:.0f} s is left")
            return
        began = time.monotonic()
        self._until = min(whole, began + seconds)
        try:
            do(self, *arguments)
        except Exception as error:  # noqa: BLE001 -- see above
            self.crashes.append(traceback.format_exc())
            self.judge(f"{what}: completes", holds=False, detail=f"{type(error).__name__}: {error}"[:300])
        self._until = whole
        self.seconds[f"part: {what}"] = [time.monotonic() - began]
        self.write()

    def judge(self, what: str, holds: bool, detail: str = "") -> None:  # noqa: FBT001 -- a verdict
        """Record whether a claim holds."""
        self._note(Result(what, "held" if holds else "failed", detail))

    def skip(self, what: str, why: str) -> None:
        """Record a claim that cannot be checked here."""
        self._note(Result(what, "skipped", why))

    def _note(self, result: Result) -> None:
        self.results.append(result)
        state = result.state.upper() if result.state == "failed" else result.state
        print(f"{time.monotonic() - self._began:5.0f} s {state:7} {result.what}: {result.detail}".rstrip(": "), file=sys.stderr, flush=True)

    def check(
        self, *arguments: str, python: str | None = None, environ: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any], float]:
        """Run `gpudoctor check` within the current part; return its exit code, JSON document and seconds.

        Raises NoDocumentError, and subprocess.TimeoutExpired if it exceeds its own deadline.
        """
        base = {name: value for name, value in os.environ.items() if not name.startswith("GPUDOCTOR_")} | {"PYTHONPATH": self.path()}
        timeout = () if "--timeout" in arguments else ("--timeout", f"{max(self.left - ENDING, 2):.0f}")
        target = () if "--node" in arguments else ("--python", python or self.python)
        command = [sys.executable, "-m", "gpudoctor", "check", "--format", "json", *target, *arguments, *timeout]
        began = time.monotonic()
        done = subprocess.run(
            command, env={**base, **(environ or {})}, cwd="/", capture_output=True, timeout=max(self.left, ENDING) + ENDING, check=False
        )
        seconds = time.monotonic() - began
        try:
            document = json.loads(done.stdout)
        except ValueError:
            said = done.stderr[-2000:].decode(errors="replace")
            raise NoDocumentError(f"{' '.join(arguments)} wrote no JSON: {done.stdout[:200]!r} {said}") from None
        return done.returncode, document, seconds

    @staticmethod
    def path(*before: str) -> str:
        """Return PYTHONPATH with these folders and this clone before its present value, which may have gpudoctor's dependencies."""
        return os.pathsep.join(filter(None, (*before, str(ROOT), os.environ.get("PYTHONPATH", ""))))

    def run(self, *command: str | Path, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run another program within the current part. Raises subprocess.TimeoutExpired."""
        whole = {**os.environ, **(environ or {})}
        return subprocess.run(command, env=whole, cwd="/", capture_output=True, text=True, timeout=max(self.left, 1), check=False)

    def write(self) -> None:
        """Write the results so far: a table to read, everything as JSON, and the reports."""
        self.directory.mkdir(parents=True, exist_ok=True)
        seen = {name: value for name, value in asdict(self).items() if name not in {"reports", "directory"}}
        for name, text in (
            ("acceptance.md", _table(self)),
            ("acceptance.json", json.dumps(seen, indent=1)),
            ("reports.json", json.dumps(self.reports)),
        ):
            shown = UUID.sub(r"\1-…", text).replace(str(ROOT), "/recorded/clone")
            (self.directory / name).write_text(f"{shown.rstrip()}\n", encoding="utf-8")


def _table(acceptance: Acceptance) -> str:
    lines = ["# Acceptance on a GPU", "", "| what | | |", "| --- | --- | --- |"]
    lines += [f"| {result.what} | {result.state} | {_cell(result.detail)} |" for result in acceptance.results]
    lines += ["", "| | runs | median s | least s | most s |", "| --- | --: | --: | --: | --: |"]
    lines += [
        f"| {what} | {len(seconds)} | {statistics.median(seconds):.3f} | {min(seconds):.3f} | {max(seconds):.3f} |"
        for what, seconds in acceptance.seconds.items()
        if seconds
    ]
    lines += ["", "| whose | fact | gpudoctor | nvidia-smi | |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in acceptance.facts]
    return "\n".join([*lines, *(f"\n```text\n{crash}```" for crash in acceptance.crashes)])


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
