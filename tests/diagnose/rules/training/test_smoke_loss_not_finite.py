from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import CompiledStep
from tests.builders import TIMED_OUT, address, machine, smoke, training
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "smoke-loss-not-finite"


def test_a_loss_that_is_not_a_number_is_found() -> None:
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(trainings=(training(0, losses=(2.3, "nan", 0.1)),)),)))
    assert "loss is nan at step 2 of 3" in finding.message


def test_a_nan_loss_of_a_compiled_step_is_found() -> None:
    step = CompiledStep("GPU:0", "XLA", 3.0, 0.001, "inf", 1e-5, address=address(0))
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(compiled=(step,)),)))
    assert finding.message.endswith("XLA-compiled and the uncompiled step is inf.")
    assert findings_of("smoke-wrong-result", machine(1, smoke=(smoke(compiled=(step,)),))) == []


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(smoke(),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
