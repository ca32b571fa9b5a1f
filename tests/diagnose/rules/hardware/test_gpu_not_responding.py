from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Refusals
from tests.builders import TIMED_OUT, machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.hardware.samples import alarmed

RULE = "gpu-not-responding"
FEW, MOST = Refusals(asked=40, code=999, times=20), Refusals(asked=40, code=999, times=21)


def test_interrupt_problems_are_found() -> None:
    (finding,) = findings_of(RULE, alarmed(11, "IRQ issue"))
    assert "IRQ issue" in finding.message
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(("refusals", "kind"), [(FEW, OutcomeKind.PASSED), (MOST, OutcomeKind.FOUND)])
def test_the_same_error_to_most_calls_is_found(refusals: Refusals, kind: OutcomeKind) -> None:
    assert kinds_of(RULE, with_gpus({"alarms": (), "refusals": refusals})) == [kind]


def test_a_kernel_that_ran_makes_it_a_warning() -> None:
    (finding,) = findings_of(RULE, with_gpus({"alarms": (), "refusals": MOST}, smoke=(smoke(),)))
    assert finding.severity is Severity.WARNING


def test_other_outcomes() -> None:
    assert kinds_of(RULE, alarmed(15, "GPU is lost")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
