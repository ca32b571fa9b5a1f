"""Each driver function that a check calls fails in every way, one at a time.

The functions are found by recording the calls of checks of healthy machines, so a new one is covered by itself. A cell is one function
with one fault: an error code of its header, a crash, a silent exit, a delay, a hang, or answers that are garbage. In each cell the check
must end in time with a valid report, leave nothing behind, not say "ready" where the fault hides what it promises, and report every other
fact as on the healthy machine.
"""

from __future__ import annotations

import random
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from scripts.torture_parts.cell import Case, Result, Workplace
from scripts.torture_parts.driver_machines import Machine, machines
from scripts.torture_parts.driver_promises import DEATHS, PROMISED, UNPROMISED, wrongly_ready
from scripts.torture_parts.facts import Place, changed, facts, shown, wrong
from tests.seams.spoiled import WAYS, has_answers, header_of

UNKNOWN: Final = "return 999"
"""NVML_ERROR_UNKNOWN and CUDA_ERROR_UNKNOWN: what is missing then is what the function tells."""
CODE: Final = re.compile(r"(?:NVML|CUDA)_ERROR_\w+\s*=\s*(\d+)")
DELAY: Final = 300
"""Milliseconds that a late call takes."""
DELAYS: Final = 2000
"""Milliseconds that all late calls of a check may take: half of its time."""
KILLED: Final = "was killed by"
"""Why facts are missing after a handle that is garbage crashed the library."""
OPENERS: Final = frozenset({"nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "cuInit", "cuDeviceGetCount", "cuDeviceGet"})
"""Functions without which nothing is told."""
ANY: Final = -2
"""Instead of a GPU, where a fact is about none or several."""
NONE: Final = -1
"""Instead of a GPU, where a call is about none, such as that for a process's name."""
UNSTARTED: Final = "(Uninitialized)"
"""What NVML answers to every call if it did not start."""


class Cells:
    """The cells of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._told: dict[str, frozenset[Place]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def run(self, function: str, fault: str) -> Result:
        """Return what the check says in one cell."""
        result = self.machine.check(function, fault)
        result = result.but(wrongly_ready(function, fault, result.verdict))
        return replace(result.but(self._unlike(function, fault, result)), report={})

    def told(self, function: str) -> frozenset[Place]:
        """Return the facts that a function tells: those that its failure costs."""
        with self._locks[function]:
            if function not in self._told:
                report = self.machine.check(function, UNKNOWN, cell=f"{function}-told").report
                self._told[function] = frozenset(changed(self.machine.healthy, facts(report)))
            return self._told[function]

    def _unlike(self, function: str, fault: str, result: Result) -> str:
        """Return which fact is another one than on the healthy machine, and should not be; empty if none is."""
        changes = changed(self.machine.healthy, facts(result.report))
        kind = fault.split(maxsplit=1)[0]
        if kind == "sleep" and changes:
            return f"a delay changed {shown(changes, changes.get)}"
        if kind == "spoil":
            beyond = [place for place, now in changes.items() if place not in self.told(function) and not (now and KILLED in str(now))]
            return f"changed what {function} does not tell: {shown(beyond, changes.get)}" if beyond else ""
        if kind == "return":
            false = [place for place in wrong(changes) if place not in self.told(function)]
            beyond = [place for place, now in changes.items() if now and not self._explained(function, place, now)]
            return f"wrong or lost without a word about {function}: {shown(false + beyond, changes.get)}" if false or beyond else ""
        if false := wrong(changes):
            return f"wrong facts: {shown(false, changes.get)}"
        return self._lost_before(function, set(changes)) if kind in DEATHS and not self.machine.workplace.short else ""

    def _explained(self, function: str, place: Place, now: object) -> bool:
        """Return whether a missing fact says why: it names the function, or what follows from it; of a kernel the failed call is listed."""
        if not isinstance(now, dict) or place[0] == "contexts":
            return True
        return function in now["reason"] or UNSTARTED in now["reason"] or now["cause"] == "unsupported"

    def _lost_before(self, function: str, lost: set[Place]) -> str:
        """Return which fact is lost although it was told before the first call of the function that ended the child."""
        calls = [call for call in self.machine.calls if call.function.startswith("nvml") == function.startswith("nvml")]
        first = next(number for number, call in enumerate(calls) if call.function == function)
        open_yet = {(call.function, gpu) for call in calls[first:] for gpu in (call.gpu, ANY)}
        tellers = {call.function for call in calls} - OPENERS
        sections = {place[:4] for place in self.told(function)}  # a section is told whole, and a list with what is in it
        asked = [place for place in lost if place[:4] not in sections and place[-1] != "type"]
        told_by = {place: [(name, gpu) for name in tellers if place in self.told(name) for gpu in (_gpu(place), NONE)] for place in asked}
        kept = [place for place, by in told_by.items() if by and open_yet.isdisjoint(by)]
        return f"lost what was told before: {shown(kept)}" if kept else ""


def _gpu(place: Place) -> int:
    """Return which GPU of NVML a fact is about."""
    return int(place[2]) if place[:2] == ("nvml", "gpus") and len(place) > 2 else ANY


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield the faults of each function that a check calls, each function on the first machine that calls it."""
    met: set[str] = set()
    for machine in machines(workplace):
        here = Cells(machine)
        for function in machine.called:
            if function in met or (workplace.only and function not in workplace.only):
                continue
            met.add(function)
            if function not in {*PROMISED, *UNPROMISED}:
                msg = f"{function} is in no table of driver_promises.py"
                raise LookupError(msg)
            calls = sum(call.function == function for call in machine.calls)
            for fault in faults(function, calls, short=workplace.short):
                yield Case(function, fault, partial(here.run, function, fault), waits=fault == "hang")


def source_of(function: str) -> str:
    """Return the library of ours that has the function."""
    return "nvml.c" if function.startswith("nvml") else "cuda.c"


def codes(function: str) -> list[int]:
    """Return the error codes of the header that declares the function."""
    return sorted({int(number) for number in CODE.findall(header_of(source_of(function)).read_text())})


def faults(function: str, calls: int, *, short: bool) -> Iterator[str]:
    """Yield the faults of a function that a check calls so often; a short run has one, the same each time, and hangs where something is promised."""
    answers = [f"return {code}" for code in codes(function)]
    spoiled = [f"spoil {way}" for way in WAYS] if has_answers(source_of(function), function) else []
    if not short:
        yield from (*answers, *spoiled, *DEATHS, f"sleep {min(DELAY, DELAYS // calls)}")
        return
    chance = random.Random(function)
    kinds = [kind for kind in (answers, spoiled, ["crash", "leave"]) if kind]
    yield chance.choice(chance.choice(kinds))
    if function in PROMISED:
        yield "hang"
