"""What gpudoctor finds on a machine in one or several states of the table."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Level, OutcomeKind, Policy
from gpudoctor.matrix_files import open_matrix
from gpudoctor.snapshot import Snapshot
from tests.states.table import STATES, State
from tests.states.walk import healthy, with_state

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
    found = diagnose(snapshot, open_matrix(None), LOOK)
    crashed = [outcome for outcome in found.outcomes if outcome.kind is OutcomeKind.CRASHED]
    assert crashed == []
    return found


def in_state(gpus: int, places: tuple[int, ...], *states: State) -> Snapshot:
    """Return the machine with these states on the GPUs of these places."""
    snapshot = machine(gpus)
    for state in states:
        snapshot = with_state(snapshot, {**state.beside, state.path: state.value}, places)
    return snapshot


def names(snapshot: Snapshot) -> set[str]:
    """Return the names of what is found."""
    return {finding.name for finding in diagnosed(snapshot).findings}


def pairs() -> list[tuple[State, State]]:
    """Return each two states that must be found and are about different fields."""
    shown = [state for state in STATES if state.finds and state.alone]
    return [(one, other) for one, other in combinations(shown, 2) if not _overlap(one, other)]


def _overlap(one: State, other: State) -> bool:
    written = [path for state in (one, other) for path in (state.path, *state.beside)]
    return len(set(written)) < len(written) or any(first != second and second.startswith(first) for first in written for second in written)


def missed(one: State, other: State) -> str:
    """Return which of two states on one of eight GPUs is not found, and what is found instead; empty if both are, or one hides or excludes the other."""
    found = names(in_state(8, (3,), one, other))
    values = {path: value for state in (one, other) for path, value in ({**state.beside, state.path: state.value}).items()}
    excluded = (mode.excludes for mode in MODES if values.get(mode.path) == mode.value)
    lost = {one.finds, other.finds}.difference(found, *excluded)
    return f"{one} and {other}: not {', '.join(sorted(lost))}, but {', '.join(sorted(found))}" if lost and not found & HIDES.keys() else ""
