"""What a check says of a smoke training's output: no cause that the same text, pasted beside the machine's facts, excludes."""

from __future__ import annotations

import re
from functools import cache

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.cause_exclusion import excluded_causes
from gpudoctor.diagnose.engine import RuleRun, run_each_rule
from gpudoctor.diagnose.log_reading import LogReading
from gpudoctor.diagnose.rules import RULES
from gpudoctor.diagnose.rules.training.smoke_crashed import smoke_crashed
from gpudoctor.findings import FixKind, Policy
from gpudoctor.signatures.table import SIGNATURES
from gpudoctor.snapshot import NOT_ASKED, Distribution, Fact, Packages, Smoke, Snapshot, Stage, StageKind, StageState, TextLog
from tests.builders import machine, smoke, tensorflow
from tests.machines.store import recorded
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
MACHINES = ("cpu-trains", "tensorflow-cpu-trains-not", "two-of-eight-allotted")
LINES = {name: tuple(signature.lines[0] for signature in SIGNATURES[number :: len(MACHINES)]) for number, name in enumerate(MACHINES)}
"""A third of the signatures' lines for each machine: all of them on each take a minute."""
NAMES = frozenset(rule.name for rule in RULES)


def view(snapshot: Snapshot) -> MachineView:
    return MachineView(snapshot, MATRIX, Policy(level=None, allow_cpu=True))


@cache
def untrained(name: str) -> tuple[Snapshot, list[RuleRun]]:
    """A recorded machine without its smoke training, and what the rules say of it."""
    snapshot = msgspec.structs.replace(recorded(name), smoke=NOT_ASKED)
    return snapshot, run_each_rule(RULES, view(snapshot))


def failing(snapshot: Snapshot, output: str, error: str = "RuntimeError") -> Snapshot:
    """The same machine, on which the training of its first framework failed with this output."""
    assert isinstance(snapshot.frameworks, tuple)
    stage = Stage(StageKind.TRAINING, StageState.FAILED, error=error, device="CPU:0")
    return msgspec.structs.replace(snapshot, smoke=(Smoke(framework=snapshot.frameworks[0].name, stages=(stage,), output=output),))


def named(message: str) -> set[str]:
    """The causes that a message points to."""
    return set(re.findall(r"[a-z0-9-]+", found[1])) & NAMES if (found := re.search(r"Its log points to ([a-z0-9 -]+):", message)) else set()


@pytest.mark.parametrize("name", MACHINES)
def test_no_cause_is_named_that_the_same_text_excludes(name: str) -> None:
    snapshot, runs = untrained(name)
    told = 0
    for line in LINES[name]:
        (problem,) = smoke_crashed.body(view(failing(snapshot, line)).frameworks[0])
        causes = named(problem.message)
        log = TextLog((Fact(line, "line 1"),))
        pasted = view(msgspec.structs.replace(snapshot, text_log=log))
        chosen = LogReading(pasted, log).chosen({rule.name: rule for rule in RULES}, runs)
        assert causes <= {cause for _, choice in chosen for cause in choice.likely}, line
        assert not causes & excluded_causes(pasted), line
        told += bool(causes)
    assert told > len(LINES[name]) / 4


@pytest.mark.parametrize("name", MACHINES)
def test_another_release_is_never_the_first_thing_to_try(name: str) -> None:
    snapshot, _ = untrained(name)
    for line in LINES[name]:
        (problem,) = smoke_crashed.body(view(failing(snapshot, "", line)).frameworks[0])
        others = [fix.kind for fix in problem.fixes if fix.title.startswith("Install another release: ")]
        assert set(others) <= {FixKind.ELSE}, line
        changing = [fix.kind for fix in problem.fixes if fix.kind is not FixKind.CHECK]
        assert changing[:1] in ([], [FixKind.FIX]), line


def crash(*plugin: Distribution) -> str:
    """What is said of a segmentation fault in TensorFlow's training, with JAX and perhaps a plugin beside it."""
    packages = Packages((Distribution("tensorflow", "2.18.0", "/site"), Distribution("jaxlib", "0.4.33", "/site"), *plugin))
    jax = tensorflow(name="jax", distribution="jax", version=Fact("0.4.33", "dist-info"))
    stage = Stage(StageKind.TRAINING, StageState.CRASHED, error="was killed by SIGSEGV in training", device="GPU:0")
    snapshot = machine(1, packages=packages, frameworks=(tensorflow(), jax), smoke=(smoke(stages=(stage,), trainings=()),))
    (problem,) = smoke_crashed.body(view(snapshot).frameworks[0])
    return problem.message


def test_a_crash_of_tensorflow_is_no_fault_of_jax() -> None:
    assert named(crash()) == named(crash(Distribution("jax-cuda12-plugin", "0.5.3", "/site"))) == set()


def test_a_harmless_line_names_no_cause() -> None:
    snapshot, _ = untrained("cpu-trains")
    line = "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered"
    (problem,) = smoke_crashed.body(view(failing(snapshot, line)).frameworks[0])
    assert "Its log" not in problem.message
