"""What gpudoctor finds on a machine in one or several states of the table."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Level, OutcomeKind, Policy
from gpudoctor.snapshot import Snapshot
from tests.shipped import shared_matrix
from tests.states.table import STATES, State
from tests.states.walk import GPU, healthy, with_state

LOOK = Policy(level=Level.LOOK)
HIDES = {
    "gpu-fell-off-bus": "a GPU that is off the bus tells nothing else",
    "nvml-fails": "NVML lists no GPU",
    "power-cable-missing": "NVML does not start",
    "driver-library-mismatch": "NVML does not start",
    "gpu-requires-reset": "NVML does not start",
    "driver-hung": "NVML hangs",
}
"""Findings beside which another state need not show, and why."""


class Mode(NamedTuple):
    """A mode in which a GPU has no other of these defects."""

    path: str
    value: object
    excludes: frozenset[str]
    why: str


MODES = (
    Mode("gpus.*.ecc_enabled", False, frozenset({"ecc-hardware-error"}), "with ECC off nothing counts errors"),
    Mode("gpus.*.ecc_enabled", False, frozenset({"ecc-change-pending"}), "with ECC off and pending off nothing changes"),
    Mode("gpus.*.mig_enabled", True, frozenset({"mig-change-pending"}), "with MIG on and pending on nothing changes"),
    Mode(
        "gpus.*.mig_enabled",
        True,
        frozenset({"gpu-memory-held-by-other-process", "resizable-bar-off", "nvlink-inactive"}),
        "programs use an instance, which has memory of its own and no NVLink",
    ),
    Mode(
        "gpus.*.virtualization",
        "vgpu",
        frozenset({"pcie-link-degraded", "resizable-bar-off", "mig-change-pending"}),
        "its link and its MIG mode are the host's",
    ),
    Mode("gpus.*.licences.*.licensed", False, frozenset({"vgpu-licence-expiring"}), "no licence, no expiry"),
    *(
        Mode("gpus.*.fabric.state", state, frozenset({"fabric-unhealthy"}), "nvml.h: status is valid once the state is completed")
        for state in ("not-started", "in-progress")
    ),
)


@cache
def machine(gpus: int) -> Snapshot:
    """Return the healthy machine with so many GPUs."""
    return healthy(gpus)


def diagnosed(snapshot: Snapshot) -> Diagnosis:
    """Return the diagnosis, in which no rule crashed."""
    found = diagnose(snapshot, shared_matrix(), LOOK)
    crashed = [outcome for outcome in found.outcomes if outcome.kind is OutcomeKind.CRASHED]
    assert crashed == []
    return found


def in_state(gpus: int, places: tuple[int, ...], *states: State) -> Snapshot:
    """Return the machine with these states on the GPUs of these places."""
    snapshot = machine(gpus)
    for state in states:
        snapshot = with_state(snapshot, state.values, places)
    return snapshot


def names(snapshot: Snapshot) -> set[str]:
    """Return the names of what is found."""
    return {finding.name for finding in diagnosed(snapshot).findings}


def pairs() -> list[tuple[State, State]]:
    """Return each two states that must be found and can be answered at once."""
    shown = [state for state in STATES if state.finds and state.alone]
    return [(one, other) for one, other in combinations(shown, 2) if not _clash(one, other) or (_on_a_gpu(one) and _on_a_gpu(other))]


def missed(one: State, other: State) -> str:
    """Return which of two states is not found, and what is found instead; empty if both are, or one hides or excludes the other.

    Both are of one of eight GPUs, or of one each where that GPU cannot be in both.
    """
    if _clash(one, other):
        found, excuses = names(with_state(in_state(8, (3,), one), other.values, (5,))), frozenset[str]()
    else:
        found = names(in_state(8, (3,), one, other))
        values = {**one.values, **other.values}
        excluded = {name for mode in MODES if values.get(mode.path) == mode.value for name in mode.excludes}
        excuses = frozenset({one.finds, other.finds} if found & HIDES.keys() else excluded)
    lost = {one.finds, other.finds} - found - excuses
    return f"{one} and {other}: not {', '.join(sorted(lost))}, but {', '.join(sorted(found))}" if lost else ""


def _clash(one: State, other: State) -> bool:
    """Return whether two states are of one field, or give one, or a field and a part of it, different values."""
    return one.path == other.path or any(
        _within(first, second) and mine != its for first, mine in one.values.items() for second, its in other.values.items()
    )


def _within(first: str, second: str) -> bool:
    return f"{first}.".startswith(f"{second}.") or f"{second}.".startswith(f"{first}.")


def _on_a_gpu(state: State) -> bool:
    return all(path.startswith(GPU) for path in state.values)
