from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Fact, Product, Snapshot
from tests.builders import TIMED_OUT, address, smoke, torch
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "gpu-lacks-bf16"
REQUIRED = Policy(level=None, require=("bf16",))


def cards(*capabilities: Any, **changes: Any) -> Snapshot:
    """GPUs of one name for each capability."""
    return with_gpus(*({"name": f"GPU of {capability}", "compute_capability": capability} for capability in capabilities), **changes)


def test_each_model_is_one_problem() -> None:
    findings = findings_of(RULE, cards("7.5", "8.0", "7.5", "6.1", "7.5"))
    assert [finding.title for finding in findings] == ["GPU of 7.5 does not support BF16", "GPU of 6.1 does not support BF16"]
    assert findings[0].message.startswith("3 × GPU of 7.5")  # noqa: RUF001 -- a cross counts
    assert [finding.fixes[0].title for finding in findings] == ["Train in FP16 with loss scaling.", "Train in FP32."]
    assert {finding.severity for finding in findings} == {Severity.NOTE}


def test_what_was_measured_is_evidence() -> None:
    rates = tuple(Product("GPU:0", kind, 4096, rate, 0.0, 1e-3, address=address(0)) for kind, rate in (("fp32", 8e12), ("fp16", 5e13)))
    (finding,) = findings_of(RULE, cards("7.5", smoke=(smoke(1, products=rates),)))
    assert finding.evidence[-1].value == "FP32 8.0 TFLOPS, FP16 50.0 TFLOPS, none in BF16"


def test_it_applies_without_a_framework_only_where_bf16_is_required() -> None:
    bare = cards("7.5", frameworks=())
    assert kinds_of(RULE, bare) == [OutcomeKind.NOT_APPLICABLE]
    assert findings_of(RULE, bare, REQUIRED)[0].severity is Severity.ERROR


def test_other_outcomes() -> None:
    assert kinds_of(RULE, cards("8.0")) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, cards()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, cards("7.5", frameworks=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(("capabilities", "kind"), [((TIMED_OUT,), OutcomeKind.COULD_NOT_TELL), (("6.1", TIMED_OUT), OutcomeKind.FOUND)])
def test_an_unknown_compute_capability_is_not_a_pass(capabilities: tuple[Any, ...], kind: OutcomeKind) -> None:
    assert kinds_of(RULE, cards(*capabilities, frameworks=(torch(version=Fact("2.4.0+cu121", "x")),))) == [kind]
