"""Each abnormal state of NVML's answers is found, or the table says why not: alone, on one of eight GPUs, on all, and in pairs."""

from __future__ import annotations

import random

import pytest

from gpudoctor.changes.fields_read import FieldsRead, recorded_runs
from gpudoctor.findings import Severity
from gpudoctor.snapshot import Cause, Missing
from tests.seams.every import every
from tests.shipped import shared_matrix
from tests.states.judged import LOOK, diagnosed, in_state, machine, missed, names, pairs
from tests.states.real import lines
from tests.states.table import STATES, USUAL, State
from tests.states.walk import GPU, leaves, with_state

PLACES = {"alone": (1, (0,)), "one of eight": (8, (3,)), "all of eight": (8, tuple(range(8)))}
PAIRS = 80


def is_usual(path: str) -> bool:
    return any(path == one or path.startswith(f"{one.removesuffix('.*')}.") for one in USUAL)


@pytest.mark.parametrize("gpus", [1, 8])
def test_the_machine_is_healthy_otherwise(gpus: int) -> None:
    found = diagnosed(machine(gpus))
    assert (found.verdict.value, found.findings) == ("ready", ())


def test_every_field_has_an_abnormal_state_or_a_reason_why_it_has_none() -> None:
    tried = {path for state in STATES for path in (state.path, *state.beside)}
    assert [leaf.path for leaf in leaves() if leaf.path not in tried and not is_usual(leaf.path)] == []
    assert [state for state in STATES if bool(state.finds) is bool(state.why)] == []


def test_every_state_can_be_answered_by_our_library() -> None:
    """scripts/torture does so."""
    assert [state for state in STATES if not lines(state, 3)] == []


@pytest.mark.parametrize("place", PLACES)
@every("state", STATES)
def test_a_state_is_found(state: State, place: str) -> None:
    if state.path.startswith("pairs") and place == "alone":
        return
    found = names(in_state(*PLACES[place], state))
    if not state.finds:
        assert found == set()
    elif state.alone or place == "one of eight":
        assert state.finds in found


def test_two_states_at_once_are_both_found() -> None:
    chance = random.Random(14)
    assert [trouble for state, other in chance.sample(pairs(), PAIRS) if (trouble := missed(state, other))] == []


@pytest.mark.parametrize("cause", [Cause.FAILED, Cause.LOST])
def test_a_field_that_is_missing_is_no_error_of_the_machine(cause: Cause) -> None:
    for path in (leaf.path for leaf in leaves() if leaf.optional and leaf.path.startswith(GPU)):
        found = diagnosed(with_state(machine(1), {path: Missing(cause, "not read")}, (0,)))
        errors = {finding.name for finding in found.findings if finding.severity is Severity.ERROR and not finding.because_of}
        assert errors <= ({"gpu-fell-off-bus"} if cause is Cause.LOST else set()), path


def test_a_field_is_read_by_a_rule_or_there_is_a_reason_why_not() -> None:
    record = FieldsRead()
    for state in STATES:
        recorded_runs(in_state(1, (0,), state), shared_matrix(), LOOK, record)
    reasoned = {state.path for state in STATES if state.why}
    unread = [leaf.path for leaf in leaves() if (leaf.owner, leaf.path.rpartition(".")[2]) not in record.read]
    assert [path for path in unread if path not in reasoned and not is_usual(path)] == []
