from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Level, OutcomeKind, Policy, RungState
from gpudoctor.snapshot import Cause, GpuLoad, Missing, StageKind, StageLoad
from tests.builders import TIMED_OUT, address, bare, machine, smoke, training
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.diagnose.rules.training.samples import stage, trained, watched

RULE = "smoke-ran-on-cpu"
UNSEEN: dict[str, Any] = {"listed": False, "memory_before": 5, "memory_most": 5, "utilization": 0}


def test_a_framework_that_lists_no_gpu_names_the_cause_in_its_log() -> None:
    log = "E0000 00:00:1.2 3 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_STUB_LIBRARY: x"
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(0, output=log),)))
    assert "tensorflow 2.18.0 lists no GPU, only CPU:0." in finding.message
    assert "libcuda-is-stub" in finding.message
    assert any(row.what == "relevant log line" for row in finding.evidence)


def test_training_on_another_device_is_found() -> None:
    strayed = training(0, placed_on=("/job:localhost/replica:0/task:0/device:CPU:0",))
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(trainings=(strayed,)),)))
    assert "was asked to train on GPU:0 but computed on" in finding.message


@pytest.mark.parametrize("changes", [{}, *({field: value} for field, value in (("listed", True), ("memory_most", 6), ("utilization", 1)))])
def test_nvml_contradicts_the_framework_only_with_all_three_signs(changes: dict[str, Any]) -> None:
    diagnosis = diagnose(trained(watched(**{**UNSEEN, **changes})), MATRIX, Policy(level=Level.TRAIN))
    contradicted = [finding.confidence for finding in diagnosis.findings if finding.name == RULE]
    assert contradicted == [Confidence.LIKELY] * (not changes)
    assert (diagnosis.ladder[0].steps[-1].state is RungState.FAILED) is (not changes)


@pytest.mark.parametrize("field", ["listed", "memory_before", "memory_most", "utilization"])
def test_missing_nvml_data_contradicts_nothing(field: str) -> None:
    assert findings_of(RULE, trained(watched(**{**UNSEEN, field: Missing(Cause.UNSUPPORTED, "not here")}))) == []


def test_short_work_contradicts_nothing() -> None:
    short = StageLoad(stage=StageKind.TRAINING, samples=9, seconds=0.9)
    assert findings_of(RULE, trained(watched(short, **UNSEEN))) == []


def test_the_load_of_another_framework_contradicts_nothing() -> None:
    other = GpuLoad(framework="torch", address=address(0), stages=(stage(),), **UNSEEN)
    assert findings_of(RULE, trained(other)) == []


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(smoke(),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare(smoke=(smoke(0),))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1, smoke=(smoke(0, devices=TIMED_OUT),))) == [OutcomeKind.COULD_NOT_TELL]
