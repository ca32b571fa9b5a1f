"""A GPU, or the whole driver, is gone from one call on: NVML and libcuda answer the calls before it and refuse that one and every later one.

The check must end with a valid report, keep what it was told of the other GPU, and not say "ready" if any later call tells what it promises.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Final

from scripts.torture_parts.cell import Case, Result, Workplace
from scripts.torture_parts.driver_machines import Machine, machines
from scripts.torture_parts.driver_promises import BESIDE, PROMISED
from scripts.torture_parts.facts import changed, facts, shown, wrong

GPU: Final = 1
"""Which of two vanishes."""
LOST: Final = 15
CODES: Final = {"nvml": (LOST, 2, 6, 999), "cu": (100, 101, 719, 999)}
"""GPU is lost, invalid argument, not found, unknown; no device, invalid device, launch failure, unknown."""


@dataclass(frozen=True)
class Vanishing:
    """What vanishes: every answer of a library, or one GPU of NVML."""

    machine: Machine
    library: str
    what: str

    @property
    def calls(self) -> list[list[str]]:
        """Return for each process the calls that are about it, in order."""
        mine = [call for call in self.machine.calls if call.function.startswith(self.library) and (self.what == "*" or call.gpu == GPU)]
        ordered = sorted(mine, key=lambda call: call.process)  # stable: each process's calls stay in order
        return [[call.function for call in calls] for _, calls in groupby(ordered, key=lambda call: call.process)]

    def run(self, after: int, code: int) -> Result:
        """Return what a check says if the first `after` calls are answered and the others refused."""
        fault = f"after {after} return {code}"
        result = self.machine.check(self.what, fault, f"{self.library} {self.what} {fault}".replace(" ", "-"), self.library)
        changes = changed(self.machine.healthy, facts(result.report))
        others = [place for place in changes if place[:3] == ("nvml", "gpus", 1 - GPU)] if self.what != "*" else []
        result = result.but(f"wrong facts: {shown(wrong(changes), changes.get)}" if wrong(changes) else "")
        result = result.but(f"the other GPU lost {shown(others, changes.get)}" if others else "")
        return replace(result.but(self._wrongly_ready(after, code) if result.verdict == "ready" else ""), report={})

    def _wrongly_ready(self, after: int, code: int) -> str:
        """Return why "ready" is wrong; empty if it is right."""
        refused = {function for calls in self.calls for function in calls[after:]} - BESIDE
        if code == LOST and self.library == "nvml" and refused:
            return "ready, although a GPU is lost"
        promised = sorted(refused & PROMISED.keys())
        return f"ready, although {PROMISED[promised[0]]} is unknown" if promised else ""


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each call of each library and of one GPU as the first that is refused, with each code; a short run has one cell of each."""
    known = {machine.name: machine for machine in machines(workplace)}
    vanishing = [
        Vanishing(known["two-gpus"], "nvml", f"*.{GPU}"),
        Vanishing(known["two-gpus"], "nvml", "*"),
        Vanishing(known["two-gpus"], "cu", "*"),
        Vanishing(known["touched"], "cu", "*"),
    ]
    chance = random.Random(14)
    for one in vanishing:
        subject = f"{one.machine.name} {one.library} {one.what}"
        if not workplace.only or subject in workplace.only:
            faults = [(after, code) for code in CODES[one.library] for after in range(max(map(len, one.calls)))]
            for after, code in [chance.choice(faults)] if workplace.short else faults:
                yield Case(subject, f"{code} from call {after + 1} on", partial(one.run, after, code), f"{subject}: {code}")
