"""The decoder of children's answers, given garbage, incomplete lines, and events that lack a field, have a wrong type, or belong to another child."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.children import events
from gpudoctor.children.channel import Heard, in_our_code
from gpudoctor.children.training import RESULTS, TRAINING
from gpudoctor.probe import answers
from gpudoctor.probe.libraries import libraries
from gpudoctor.probe.target import Target
from gpudoctor.probe.telemetry import TELEMETRY_EVENTS
from gpudoctor.process import ChildEnd, ChildOutcome
from gpudoctor.smoke import TrainingPlan
from gpudoctor.smoke.results import all_reduce_of_outcome, smoke_of_outcome
from gpudoctor.snapshot import Cause, Missing, Smoke, StageState

CHILDREN = {
    "nvml": events.NVML,
    "libcuda": events.LIBCUDA,
    "context": events.CONTEXT,
    "python": events.PYTHON,
    "libraries": events.LIBRARIES,
    "files": events.FILES,
    "telemetry": TELEMETRY_EVENTS,
    "training": TRAINING,
}
every_child = pytest.mark.parametrize("kinds", CHILDREN.values(), ids=CHILDREN)
PLAN = TrainingPlan(framework="torch", executable="python", devices=(0,), addresses={0: "0000:02:00.0"}, left_alone=(), measure=True)
WHERE = {"device": "GPU:0", "logical": "cuda:0"}
PLACES = {"variables": ["cuda:0"], "gradients": ["cuda:0"], "outputs": ["cuda:0"]}
TOLD: tuple[dict[str, Any], ...] = (
    {"event": "begin", "stage": "import"},
    {"event": "end", "stage": "import", "seconds": 2.5, "version": "2.9.0", "set_aside": []},
    {"event": "begin", "stage": "devices"},
    {"event": "end", "stage": "devices", "seconds": 0.5, "devices": [{"name": "GPU:0", "kind": "gpu", "model": None, "compute_capability": None}], "networks": ["dense"]},
    {"event": "begin", "stage": "kernel", "device": "GPU:0"},
    {"event": "kernel", **WHERE, "ran_on": "cuda:0", "error": 1e-7, "tolerance": 1e-5},
    {"event": "end", "stage": "kernel", "seconds": 0.1, "device": "GPU:0"},
    {"event": "begin", "stage": "training", "network": "dense", "device": "GPU:0"},
    {"event": "number", "name": "loss", "device": "GPU:0", "network": "dense", "step": 10, "steps": 300, "value": 2.1},
    {"event": "training", **WHERE, "network": "dense", "losses": [2.1, 0.1], "accuracy": 0.99, "expected_accuracy": 0.99, "steps": 300,
     "seconds": 1.5, "samples_per_second": 6400.0, "placement": PLACES},
    {"event": "end", "stage": "training", "seconds": 2.0, "network": "dense", "device": "GPU:0"},
    {"event": "mapped", "files": []},
    {"event": "done"},
)  # fmt: skip
"""A training run's events, in order."""


def ended(*told: dict[str, Any] | bytes, code: int = 0) -> ChildOutcome:
    lines = tuple(one if isinstance(one, bytes) else json.dumps(one).encode() for one in told)
    return ChildOutcome(name="child", end=ChildEnd.EXITED, code=code, lines=lines)


def smoke(*told: dict[str, Any] | bytes, code: int = 0) -> Smoke:
    return smoke_of_outcome(PLAN, ended(*told, code=code))


def well(found: Smoke) -> bool:
    return all(stage.state is StageState.DONE for stage in found.stages)


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8
)
TAGS = st.sampled_from(
    ("nvml", "nvml-gpu", "count", "missing", "done", "cuda-device", "python", "inside", "kernel", "training", "end", "begin", "sum")
)
OBJECTS = st.builds(
    lambda tag, rest: {**rest, "type": tag, "event": tag},
    TAGS,
    st.dictionaries(st.sampled_from(("index", "stage", "device", "error")), VALUES),
)
GARBAGE = st.binary(max_size=60) | (VALUES | OBJECTS).map(lambda value: json.dumps(value).encode())


@every_child
@given(lines=st.lists(GARBAGE, max_size=5))
def test_every_line_is_an_event_or_a_failure(kinds: tuple[Any, ...], lines: list[bytes]) -> None:
    heard = Heard(ChildOutcome(name="child", end=ChildEnd.EXITED, lines=tuple(lines)), kinds, "the script")
    marks = [line for line in lines if line.startswith(b"@")]
    assert bool(heard.strange) == (len(heard.events) + len(marks) < len(lines))
    assert not heard.strange or isinstance(heard.cut, Missing)


@given(lines=st.lists(GARBAGE, min_size=1, max_size=5))
def test_garbage_is_never_a_pass(lines: list[bytes]) -> None:
    outcome = ChildOutcome(name="child", end=ChildEnd.EXITED, lines=tuple(lines))
    python, _ = answers.python_answer(outcome, Target("/usr/bin/python3", "it is there"))
    assert isinstance(python, Missing)
    assert answers.context_answer(outcome, 0, "0000:02:00.0").kernel_right is not True
    assert isinstance(libraries(outcome, ()), Missing)
    assert not smoke(*lines).kernels
    assert not smoke(*lines).trainings
    assert not well(smoke(*lines))
    for section in (answers.nvml_answer(outcome), answers.libcuda_answer(outcome)):
        assert isinstance(section, Missing) or isinstance(section.init, Missing)


def test_a_complete_answer_is_read_completely() -> None:
    found = smoke(*TOLD)
    assert well(found)
    assert (len(found.kernels), len(found.trainings), found.version) == (1, 1, "2.9.0")


OPTIONAL = {"version", "set_aside", "devices", "networks", "network", "device"}
"""Fields that events of some stages have and others lack."""
LACKING = [
    (place, name) for place, event in enumerate(TOLD) for name in event if not (name in OPTIONAL and event["event"] in {"begin", "end"})
]


@pytest.mark.parametrize(("place", "name"), LACKING)
def test_an_event_without_a_field_is_a_failure(place: int, name: str) -> None:
    told = [dict(event) for event in TOLD]
    del told[place][name]
    found = smoke(*told)
    assert [str(stage.error) for stage in found.stages if "wrote an invalid line" in str(stage.error)] != []
    assert len(found.kernels) + len(found.trainings) == (1 if TOLD[place]["event"] in {"kernel", "training"} else 2)


@pytest.mark.parametrize("result", ["kernel", "training"])
def test_a_stage_without_its_result_fails(result: str) -> None:
    found = smoke(*(event for event in TOLD if event["event"] != result))
    failed = [stage for stage in found.stages if stage.state is StageState.FAILED]
    assert [(str(stage.kind), stage.error) for stage in failed] == [(result, "it ended without its result")]


def test_a_result_after_the_end_of_its_stage_is_ignored() -> None:
    told = list(TOLD)
    told[5], told[6] = told[6], told[5]
    assert [stage.error for stage in smoke(*told).stages if stage.state is StageState.FAILED] == ["it ended without its result"]


def test_a_stage_that_ends_before_it_began_fails() -> None:
    assert [stage.error for stage in smoke(*TOLD[1:]).stages if stage.state is StageState.FAILED] == ["it ended before it began"]


@given(st.permutations(TOLD))
def test_events_in_any_order_do_not_crash(told: list[dict[str, Any]]) -> None:
    found = smoke(*told)
    assert {stage.kind.value for stage in found.stages} == {"import", "devices", "kernel", "training"}


@given(st.data())
def test_a_truncated_answer_is_incomplete(data: st.DataObject) -> None:
    whole = b"\n".join(json.dumps(event).encode() for event in TOLD)
    short = whole[: data.draw(st.integers(0, len(whole) - 2))]
    found = smoke(*(line for line in short.split(b"\n") if line), code=1)
    assert not well(found) or not found.stages


def test_an_all_reduce_without_its_result_fails() -> None:
    told = ({"event": "begin", "stage": "all-reduce"}, {"event": "end", "stage": "all-reduce", "seconds": 1.0}, {"event": "done"})
    assert [stage.state for stage in all_reduce_of_outcome(("GPU:0", "GPU:1"), ended(*told), p2p=True).stages] == [StageState.FAILED]


def test_every_measuring_stage_needs_a_result() -> None:
    assert len(set(RESULTS.values())) == len(RESULTS)


def test_a_reported_crash_is_our_defect_however_the_script_ends() -> None:
    for code in (0, 1):
        heard = Heard(ended({"type": "crashed", "reason": "ValueError: x in y.py, line 3"}, code=code), events.NVML, "the NVML probe")
        assert heard.gap() == Missing(Cause.CRASHED, "the NVML probe crashed: ValueError: x in y.py, line 3")


def test_a_traceback_in_foreign_code_is_not_our_defect() -> None:
    assert in_our_code('Traceback (most recent call last):\n  File "/usr/lib/python3/x.py", line 3, in f\nValueError: x\n') == ""
