from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.rule_choice import training_rule_codes
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.findings import Level, Policy, Severity
from gpudoctor.matrix import Matrix
from tests.builders import bare, machine
from tests.diagnose.rules.python.required import HEALTHY, about


@pytest.mark.parametrize("wishes", [{"only": ("GD1",)}, {"skip": ("GD602",)}, {"skip": ("framework-missing",)}])
def test_a_requirement_cannot_lose_its_judge(wishes: dict[str, Any], matrix: Matrix) -> None:
    with pytest.raises(UsageError, match="which --require needs"):
        about(machine(), matrix, "gpus==1", **wishes)


def test_a_rule_that_judges_one_requirement_may_be_skipped_with_others(matrix: Matrix) -> None:
    about(HEALTHY, matrix, "gpus==2", skip=("GD113",))
    with pytest.raises(UsageError, match="GD113 gpu-lacks-bf16, which --require needs"):
        about(HEALTHY, matrix, "bf16", skip=("GD113",))


def test_the_reason_of_a_skip_is_kept(matrix: Matrix) -> None:
    policy = Policy(level=Level.LOOK, skip=("GD10", "no-driver", "GD101"), reasons={"GD10": "a laptop", "no-driver": "in a bag"})
    skipped = {rule.name: rule.reason for rule in diagnose(bare(), matrix, policy).skipped}
    assert skipped["no-gpu"] == skipped["gpu-fell-off-bus"] == "a laptop"
    assert skipped["no-driver"] == "in a bag"
    only = diagnose(bare(), matrix, Policy(level=Level.LOOK, only=("GD1",), skip=("GD101", "GD201"))).skipped
    assert [(rule.code, rule.name, rule.reason) for rule in only] == [("GD101", "no-gpu", "")]


def test_the_rules_of_a_training() -> None:
    chosen = training_rule_codes(RULES)
    assert {rule.code for rule in RULES if rule.severity is Severity.ERROR} < set(chosen)
    assert {"GD601", "GD906", "GD111", "GD507"} <= set(chosen)
    assert not {rule.code for rule in RULES if rule.severity is Severity.NOTE} & set(chosen)
    assert "GD305" not in chosen
