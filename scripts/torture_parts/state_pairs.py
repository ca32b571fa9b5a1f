"""NVML answers two abnormal states at once, on one of eight GPUs: both are found, or one hides the other. A cell is a state with each other one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

from scripts.torture_parts.cell import Case, Result, Workplace
from tests.states.judged import missed, pairs
from tests.states.table import State


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each state with the states after it in the table; none in a short torture, as a test samples them."""
    every = [] if workplace.short else pairs()
    if every:
        missed(*every[0])  # in one thread: msgspec 0.22 crashes where two threads are the first to decode the same struct
    for state in dict.fromkeys(map(str, (one for one, _ in every))):
        if not workplace.only or state in workplace.only:
            mine = [(one, other) for one, other in every if str(one) == state]
            yield Case(state, f"with {len(mine)} others", partial(run, mine), "pairs of NVML states")


def run(mine: Sequence[tuple[State, State]]) -> Result:
    """Return which of two states is not found, for the first such pair."""
    began = time.monotonic()
    troubles = [trouble for state, other in mine if (trouble := missed(state, other))]
    shown = f"{troubles[0]}{f' and {len(troubles) - 1} more' if troubles[1:] else ''}" if troubles else ""
    return Result(shown, seconds=time.monotonic() - began)
