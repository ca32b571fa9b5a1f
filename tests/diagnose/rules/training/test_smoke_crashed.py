from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Level, OutcomeKind, Policy, RungState, Severity
from gpudoctor.snapshot import Cause, Missing, Smoke, Stage, StageKind, StageState
from tests.builders import TIMED_OUT, machine, smoke, tensorflow, training
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of

RULE = "smoke-crashed"


def trained_state(one: Smoke) -> RungState:
    ladder = diagnose(machine(1, smoke=(one,)), MATRIX, Policy(level=Level.TRAIN)).ladder
    return ladder[0].steps[-1].state


def test_both_networks_must_train() -> None:
    both = ("dense", "convolutional")
    dense, convolutional = training(0), training(0, network="convolutional")
    weak = training(0, network="convolutional", accuracy=0.3)
    crashed = Stage(StageKind.TRAINING, StageState.CRASHED, error="killed by signal 11", network="convolutional", device="GPU:0")
    assert trained_state(smoke(networks=both, trainings=(dense, convolutional))) is RungState.PROVEN
    assert trained_state(smoke(networks=both, trainings=(dense,), stages=(crashed,))) is RungState.FAILED
    assert trained_state(smoke(networks=both, trainings=(dense, weak))) is RungState.FAILED
    assert trained_state(smoke(trainings=(dense,))) is RungState.PROVEN


NO_KERNEL = Stage(
    StageKind.KERNEL, StageState.FAILED, error="CUDA error: no kernel image is available for execution on the device", device="GPU:0"
)


def test_a_crash_names_the_causes_that_the_log_points_to() -> None:
    unknown = tensorflow(architectures=Missing(Cause.FAILED, "not readable"), version=Missing(Cause.FAILED, "not readable"))
    (finding,) = findings_of(RULE, machine(1, frameworks=(unknown,), smoke=(smoke(stages=(NO_KERNEL,), trainings=()),)))
    assert "gpu-too-new-for-build or gpu-too-old-for-build" in finding.message
    assert "gpudoctor explain gpu-too-new-for-build" in [fix.command for fix in finding.fixes]


def test_a_cause_that_versions_exclude_is_not_named() -> None:
    """The build has kernels for this GPU, and a smoke training uses no extension that might have none."""
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(stages=(NO_KERNEL,), trainings=()),)))
    assert "Its log says that this build has no kernels for this GPU." in finding.message
    assert not any(fix.command.startswith("gpudoctor explain") for fix in finding.fixes)


@pytest.mark.parametrize("kind", [StageKind.PRODUCTS, StageKind.COMPILED_STEP])
def test_a_measurement_that_fails_is_a_warning_and_training_counts(kind: StageKind) -> None:
    one = smoke(stages=(Stage(kind, StageState.FAILED, error="no compiler", device="GPU:0"),))
    diagnosis = diagnose(machine(1, smoke=(one,)), MATRIX, Policy(level=Level.TRAIN))
    assert [(finding.name, finding.severity) for finding in diagnosis.findings] == [(RULE, Severity.WARNING)]
    assert trained_state(one) is RungState.PROVEN


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(smoke(),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
