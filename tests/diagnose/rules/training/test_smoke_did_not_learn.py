from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT, machine, smoke, training
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "smoke-did-not-learn"


@pytest.mark.parametrize(("flaw", "text"), [
    ({"losses": (2.3, 2.2, 1.9)}, "loss went from 2.3 to 1.9, accuracy is 0.99 (expected 1.00)"),
    ({"accuracy": 0.312345}, "accuracy is 0.312 (expected 1.00)"),
    ({"losses": ()}, "no loss was reported"),
])  # fmt: skip
def test_training_without_progress_is_found(flaw: dict[str, Any], text: str) -> None:
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(trainings=(training(0, **flaw),)),)))
    assert text in finding.message


def test_both_networks_of_a_device_are_one_problem() -> None:
    trainings = (training(0, accuracy=0.3), training(0, accuracy=0.3, network="convolutional"))
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(networks=("dense", "convolutional"), trainings=trainings),)))
    assert [row.what for row in finding.evidence] == ["training", "training of the convolutional network"]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(smoke(),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
