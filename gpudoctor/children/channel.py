"""The one channel to children: a script of ours is started under an interpreter, and what it says is decoded strictly.

A line that is no event of its script, or lacks a part of one, is a reason to call the answer failed; it is never passed over.
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

from gpudoctor.process import ANSWER, End, Outcome, Spec, Supervisor
from gpudoctor.snapshot import Cause, Missing

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(SCRIPTS)
_ISOLATED = ("-I", "-S")
_FRAME = r'(?m)^ *File "([^"\n]{1,4096})", line (\d{1,9})'
"""As Python's traceback module writes the place of an error."""
_END, _LONGEST = 1 << 16, 300
"""Characters of standard error that are looked through, and of an error that are kept."""
_MARK = b"@"
_SHOWN = 80
"""Bytes of a line that cannot be read that are shown."""
Kind = TypeVar("Kind")


class Crashed(msgspec.Struct, frozen=True, tag_field="type", tag="crashed", forbid_unknown_fields=True):
    """A script of ours broke."""

    reason: str


class Done(msgspec.Struct, frozen=True, tag_field="type", tag="done", forbid_unknown_fields=True):
    """A script came to its end; the last event."""


def own() -> tuple[str, ...]:
    """Gpudoctor's own interpreter. Its environment may keep compiled modules; nothing is written into the one that is examined."""
    return (sys.executable, *_ISOLATED, *(("-B",) if sys.dont_write_bytecode else ()))


def isolated(executable: str) -> tuple[str, ...]:
    """An interpreter without its site-packages, the user's variables and compiled modules."""
    return (executable, *_ISOLATED, "-B")


def script(
    name: str,
    path: str,
    interpreter: tuple[str, ...],
    environ: Mapping[str, str],
    *arguments: str,
    stall: float,
    deadline: float,
    **more: Any,
) -> Spec:
    """A child called `name` that runs the script at `path`, "target/python_probe.py"; `more` are further fields of Spec."""
    return Spec(
        name=name,
        argv=(*interpreter, f"{SCRIPTS}/{path}", "--answer-fd", ANSWER, *arguments),
        environment={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stall=stall,
        deadline=deadline,
        **more,
    )


def outcome_of(supervisor: Supervisor, name: str, until: float = float("inf")) -> Outcome:
    """What a child left behind, when it has ended; one that nobody started was stopped."""
    return supervisor.wait([name], until).get(name) or Outcome(name=name, end=End.STOPPED)


def run(supervisor: Supervisor, spec: Spec) -> Outcome:
    """Start a child and wait for its end."""
    supervisor.start(spec)
    return outcome_of(supervisor, spec.name)


class Heard:
    """The events of one child, in order, and how it ended."""

    def __init__(self, outcome: Outcome, kinds: tuple[Any, ...], who: str) -> None:
        """`kinds` are the events of the script; `who` names it to a person: "the NVML probe"."""
        self.outcome = outcome
        self.who = who
        self.strange = ""
        """Why the first line that is no event is none; empty where every line is one."""
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
        """The first event of one kind; None where there is none."""
        return next(iter(self.all(kind)), None)

    @property
    def silent(self) -> bool:
        """Whether nothing shows that our script ever ran."""
        return not self.outcome.mark and not self.events

    @property
    def timed_out(self) -> bool:
        """Whether it was given up."""
        return self.outcome.end in {End.STALLED, End.OVERDUE}

    @property
    def crash(self) -> str:
        """What broke in our script and where, which says nothing about the machine; empty where it did not break.

        A script says so itself; one that broke before it could speak left a traceback that ends in our code.
        """
        crashed = self.first(Crashed)
        if crashed is not None:
            return crashed.reason or "it did not say what"
        silent = not self.outcome.lines and not self.outcome.mark
        return in_our_code(self.outcome.stderr) if silent and self.outcome.end is End.EXITED and self.outcome.code else ""

    @property
    def cut(self) -> Missing | None:
        """Why the answer is not whole; None where it is."""
        whole = self.first(Done) is not None and not (self.crash or self.strange or self.outcome.trouble)
        return None if whole else self.gap()

    def gap(self, who: str = "") -> Missing:
        """What is missing of an answer that is not whole, and why; `who` in place of the script's name."""
        if self.crash:
            return Missing(Cause.CRASHED, f"{self.who} has a defect: {self.crash}")
        reason = f"{who or self.who} {self.outcome.trouble or self.strange or 'ended without a whole answer'}"
        if self.outcome.stuck:
            reason += ", in an uninterruptible call (state D)"
        if self.timed_out:
            return Missing(Cause.TIMED_OUT, reason)
        words = self.outcome.stderr.strip().rpartition("\n")[2][:200]
        return Missing(Cause.FAILED, f"{reason} ({words})" if words else reason)


@cache
def _decoder(kinds: tuple[Any, ...]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(reduce(or_, kinds))


def decoded(line: bytes, kinds: tuple[Any, ...]) -> tuple[Any, str]:
    """The event in a line, else None and why there is none: what the child did, as a clause; empty for a mark of progress."""
    if line.startswith(_MARK):
        return None, ""
    try:
        return _decoder(kinds).decode(line), ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return None, f"wrote a line that is no event of its script: {ascii(line[:_SHOWN])[2:-1]} ({error})"


def in_our_code(stderr: str) -> str:
    """What a traceback says that ends in our code; empty where it does not, or where the machine is at fault."""
    frames = re.findall(_FRAME, stderr[-_END:])
    words = stderr.strip().rpartition("\n")[2]
    if not frames or not frames[-1][0].startswith(f"{PACKAGE}/") or words.startswith(("ImportError", "ModuleNotFoundError", "MemoryError")):
        return ""
    return f"{words[:_LONGEST]} in {os.path.relpath(frames[-1][0], PACKAGE)}, line {frames[-1][1]}"
