"""The only channel to children: starts one of our scripts under an interpreter and decodes its answer strictly.

A line that is not an event of the script, or lacks a field, makes the answer a failure; it is never skipped.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache, reduce
from operator import or_
from typing import Any, TypeVar

import msgspec

from gpudoctor.process import ANSWER_PLACEHOLDER, ChildEnd, ChildOutcome, ChildSpec, Supervisor
from gpudoctor.snapshot import Cause, Missing
from gpudoctor.typed_values import json_decoder

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(SCRIPTS)
_ISOLATION_OPTIONS = ("-I", "-S")
_TRACEBACK_FRAME = r'(?m)^ *File "([^"\n]{1,4096})", line (\d{1,9})'
"""The location line of a Python traceback."""
_FOREIGN_ERRORS = ("ImportError", "ModuleNotFoundError", "MemoryError", "AttributeError: module '")
"""How errors begin that our code meets in a damaged environment; the last one where another file shadows a module, such as json.py."""
_OUTPUT_END, _MAX_LENGTH = 1 << 16, 300
"""Characters of standard error to search, and of an error to keep."""
_MARK_BYTE = b"@"
_MAX_SHOWN = 80
"""Bytes of an undecodable line to show."""
Kind = TypeVar("Kind")


class Crashed(msgspec.Struct, frozen=True, tag_field="type", tag="crashed", forbid_unknown_fields=True):
    """One of our scripts crashed."""

    reason: str


class Done(msgspec.Struct, frozen=True, tag_field="type", tag="done", forbid_unknown_fields=True):
    """The last event of a script that finished."""


def own() -> tuple[str, ...]:
    """Gpudoctor's own interpreter, which may cache compiled modules; nothing is written into the examined environment."""
    return (sys.executable, *_ISOLATION_OPTIONS, *(("-B",) if sys.dont_write_bytecode else ()))


def isolated(executable: str) -> tuple[str, ...]:
    """An interpreter without its site-packages, the user's variables and compiled modules."""
    return (executable, *_ISOLATION_OPTIONS, "-B")


def script(
    name: str,
    path: str,
    interpreter: tuple[str, ...],
    environ: Mapping[str, str],
    *arguments: str,
    stall: float,
    deadline: float,
    **more: Any,
) -> ChildSpec:
    """A child called `name` that runs the script at `path`, "target/python_probe.py"; `more` are other fields of Spec."""
    return ChildSpec(
        name=name,
        argv=(*interpreter, f"{SCRIPTS}/{path}", "--answer-fd", ANSWER_PLACEHOLDER, *arguments),
        environment={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stall=stall,
        deadline=deadline,
        **more,
    )


def outcome_of(supervisor: Supervisor, name: str, until: float = float("inf")) -> ChildOutcome:
    """How a child ended; one that was never started counts as stopped."""
    return supervisor.wait([name], until).get(name) or ChildOutcome(name=name, end=ChildEnd.STOPPED)


def run(supervisor: Supervisor, spec: ChildSpec) -> ChildOutcome:
    """Start a child and wait for it."""
    supervisor.start(spec)
    return outcome_of(supervisor, spec.name)


class Heard:
    """The events of one child, in order, and how it ended."""

    def __init__(self, outcome: ChildOutcome, kinds: tuple[Any, ...], who: str) -> None:
        """`kinds` are the script's events; `who` is its name for people: "the NVML probe"."""
        self.outcome = outcome
        self.who = who
        self.strange = ""
        """Why the first invalid line is not an event; empty if all are valid."""
        events = []
        for line in outcome.lines:
            event, problem = decoded(line, kinds)
            self.strange = self.strange or problem
            if event is not None:
                events.append(event)
        self.events: tuple[Any, ...] = tuple(events)

    def all(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The events of one kind."""
        return tuple(event for event in self.events if isinstance(event, kind))

    def first(self, kind: type[Kind]) -> Kind | None:
        """The first event of one kind; None if there is none."""
        return next(iter(self.all(kind)), None)

    @property
    def silent(self) -> bool:
        """Whether nothing shows that our script ran at all."""
        return not self.outcome.mark and not self.events

    @property
    def timed_out(self) -> bool:
        """Whether it ran out of time."""
        return self.outcome.end in {ChildEnd.STALLED, ChildEnd.OVERDUE}

    @property
    def crash(self) -> str:
        """What crashed in our script and where, which says nothing about the machine; empty if it did not crash.

        A script reports this itself; one that crashed too early left a traceback that ends in our code.
        """
        crashed = self.first(Crashed)
        if crashed is not None:
            return crashed.reason or "without a message"
        silent = not self.outcome.lines and not self.outcome.mark
        return in_our_code(self.outcome.stderr) if silent and self.outcome.end is ChildEnd.EXITED and self.outcome.code else ""

    @property
    def cut(self) -> Missing | None:
        """Why the answer is incomplete; None if it is complete."""
        whole = self.first(Done) is not None and not (self.crash or self.strange or self.outcome.trouble)
        return None if whole else self.gap()

    def gap(self, who: str = "") -> Missing:
        """What is missing from an incomplete answer, and why; `who` replaces the script's name."""
        if self.crash:
            return Missing(Cause.CRASHED, f"{self.who} crashed: {self.crash}")
        reason = f"{who or self.who} {self.outcome.trouble or self.strange or 'ended before its answer was complete'}"
        if self.outcome.stuck:
            reason += ", in an uninterruptible call (state D)"
        if self.timed_out:
            return Missing(Cause.TIMED_OUT, reason)
        words = self.outcome.stderr.strip().rpartition("\n")[2][:200]
        return Missing(Cause.FAILED, f"{reason} ({words})" if words else reason)


@cache
def decoder(kinds: tuple[Any, ...]) -> msgspec.json.Decoder[Any]:
    """Return what decodes these events."""
    return json_decoder(reduce(or_, kinds))


def decoded(line: bytes, kinds: tuple[Any, ...]) -> tuple[Any, str]:
    """The event in a line; otherwise None and what the child did wrong, as a clause, which is empty for a progress mark."""
    if line.startswith(_MARK_BYTE):
        return None, ""
    try:
        return decoder(kinds).decode(line), ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return None, f"wrote an invalid line: {ascii(line[:_MAX_SHOWN])[2:-1]} ({error})"


def in_our_code(stderr: str) -> str:
    """The error of a traceback that ends in our code; empty if it does not, or if the machine is to blame."""
    frames = re.findall(_TRACEBACK_FRAME, stderr[-_OUTPUT_END:])
    words = stderr.strip().rpartition("\n")[2]
    if not frames or not frames[-1][0].startswith(f"{PACKAGE}/") or words.startswith(_FOREIGN_ERRORS):
        return ""
    return f"{words[:_MAX_LENGTH]} in {os.path.relpath(frames[-1][0], PACKAGE)}, line {frames[-1][1]}"
