"""The decoder on what no script of ours says: garbage, half lines, events that lack a part, have one of another type, or are of another child."""

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
from gpudoctor.probe.telemetry import TELEMETRY
from gpudoctor.process import End, Outcome
from gpudoctor.smoke import Plan
from gpudoctor.smoke.read import read, read_all_reduce
from gpudoctor.snapshot import Cause, Missing, Smoke, StageState

CHILDREN = {
    "nvml": events.NVML,
    "libcuda": events.LIBCUDA,
    "context": events.CONTEXT,
    "python": events.PYTHON,
    "libraries": events.LIBRARIES,
    "files": events.FILES,
    "telemetry": TELEMETRY,
    "training": TRAINING,
}
every_child = pytest.mark.parametrize("kinds", CHILDREN.values(), ids=CHILDREN)
PLAN = Plan(framework="torch", executable="python", devices=(0,), addresses={0: "0000:02:00.0"}, left_alone=(), measure=True)
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
    {"event": "training", **WHERE, "network": "dense", "short": False, "losses": [2.1, 0.1], "accuracy": 0.99, "expected_accuracy": 0.99, "steps": 300,
     "samples": 9600, "seconds": 1.5, "first_step_seconds": 0.2, "samples_per_second": 6400.0, "peak_memory_bytes": None, "placement": PLACES},
    {"event": "end", "stage": "training", "seconds": 2.0, "network": "dense", "device": "GPU:0"},
    {"event": "mapped", "files": []},
    {"event": "done"},
)  # fmt: skip
"""A training as the child tells it."""


def ended(*told: dict[str, Any] | bytes, code: int = 0) -> Outcome:
    lines = tuple(one if isinstance(one, bytes) else json.dumps(one).encode() for one in told)
    return Outcome(name="child", end=End.EXITED, code=code, lines=lines)


def smoke(*told: dict[str, Any] | bytes, code: int = 0) -> Smoke:
    return read(PLAN, ended(*told, code=code))


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
def test_whatever_is_said_is_an_event_or_a_reason(kinds: tuple[Any, ...], lines: list[bytes]) -> None:
    heard = Heard(Outcome(name="child", end=End.EXITED, lines=tuple(lines)), kinds, "the script")
    marks = [line for line in lines if line.startswith(b"@")]
    assert bool(heard.strange) == (len(heard.events) + len(marks) < len(lines))
    assert not heard.strange or isinstance(heard.cut, Missing)


@given(lines=st.lists(GARBAGE, min_size=1, max_size=5))
def test_garbage_is_never_a_pass(lines: list[bytes]) -> None:
    outcome = Outcome(name="child", end=End.EXITED, lines=tuple(lines))
    python, _ = answers.python(outcome, Target("/usr/bin/python3", "it is there"))
    assert isinstance(python, Missing)
    assert answers.context(outcome, 0, "0000:02:00.0").kernel_right is not True
    assert isinstance(libraries(outcome, ()), Missing)
    assert not smoke(*lines).kernels
    assert not smoke(*lines).trainings
    assert not well(smoke(*lines))
    for section in (answers.nvml(outcome), answers.libcuda(outcome)):
        assert isinstance(section, Missing) or isinstance(section.init, Missing)


def test_a_whole_answer_is_heard_whole() -> None:
    found = smoke(*TOLD)
    assert well(found)
    assert (len(found.kernels), len(found.trainings), found.version) == (1, 1, "2.9.0")


OPTIONAL = {"version", "set_aside", "devices", "networks", "network", "device"}
"""What an event of some stages has and one of others has not."""
LACKING = [
    (place, name) for place, event in enumerate(TOLD) for name in event if not (name in OPTIONAL and event["event"] in {"begin", "end"})
]


@pytest.mark.parametrize(("place", "name"), LACKING)
def test_an_event_that_lacks_a_part_is_a_failure(place: int, name: str) -> None:
    told = [dict(event) for event in TOLD]
    del told[place][name]
    found = smoke(*told)
    assert [str(stage.error) for stage in found.stages if "wrote an invalid line" in str(stage.error)] != []
    assert len(found.kernels) + len(found.trainings) == (1 if TOLD[place]["event"] in {"kernel", "training"} else 2)


@pytest.mark.parametrize("result", ["kernel", "training"])
def test_a_stage_without_its_result_is_no_success(result: str) -> None:
    found = smoke(*(event for event in TOLD if event["event"] != result))
    failed = [stage for stage in found.stages if stage.state is StageState.FAILED]
    assert [(str(stage.kind), stage.error) for stage in failed] == [(result, "it ended without its result")]


def test_a_result_that_comes_after_the_end_of_its_stage_is_too_late() -> None:
    told = list(TOLD)
    told[5], told[6] = told[6], told[5]
    assert [stage.error for stage in smoke(*told).stages if stage.state is StageState.FAILED] == ["it ended without its result"]


def test_a_stage_that_ends_without_having_begun_is_no_success() -> None:
    assert [stage.error for stage in smoke(*TOLD[1:]).stages if stage.state is StageState.FAILED] == ["it ended before it began"]


@given(st.permutations(TOLD))
def test_in_any_other_order_nothing_breaks(told: list[dict[str, Any]]) -> None:
    found = smoke(*told)
    assert {stage.kind.value for stage in found.stages} == {"import", "devices", "kernel", "training"}


@given(st.data())
def test_an_answer_that_breaks_off_is_not_whole(data: st.DataObject) -> None:
    whole = b"\n".join(json.dumps(event).encode() for event in TOLD)
    short = whole[: data.draw(st.integers(0, len(whole) - 2))]
    found = smoke(*(line for line in short.split(b"\n") if line), code=1)
    assert not well(found) or not found.stages


def test_an_all_reduce_without_its_sum_is_no_success() -> None:
    told = ({"event": "begin", "stage": "all-reduce"}, {"event": "end", "stage": "all-reduce", "seconds": 1.0}, {"event": "done"})
    assert [stage.state for stage in read_all_reduce(("GPU:0", "GPU:1"), ended(*told), p2p=True).stages] == [StageState.FAILED]


def test_every_stage_that_measures_has_a_result() -> None:
    assert len(set(RESULTS.values())) == len(RESULTS)


def test_a_script_that_says_that_it_broke_has_a_defect_however_it_ends() -> None:
    for code in (0, 1):
        heard = Heard(ended({"type": "crashed", "reason": "ValueError: x in y.py, line 3"}, code=code), events.NVML, "the NVML probe")
        assert heard.gap() == Missing(Cause.CRASHED, "the NVML probe crashed: ValueError: x in y.py, line 3")


def test_a_traceback_of_somebody_else_is_no_defect_of_ours() -> None:
    assert in_our_code('Traceback (most recent call last):\n  File "/usr/lib/python3/x.py", line 3, in f\nValueError: x\n') == ""
