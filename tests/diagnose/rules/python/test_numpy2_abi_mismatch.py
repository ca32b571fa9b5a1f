from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind
from tests.diagnose.rules.packaged import found, outcome, stated, supposed


def test_numpy_2_is_replaced_by_numpy_1() -> None:
    (finding,) = found(supposed(stated("torch", "2.2.2"), stated("numpy", "2.0.2")))
    assert finding.message == "torch 2.2.2 is compiled for NumPy 1, but NumPy 2.0.2 is requested."
    assert finding.confidence is Confidence.CERTAIN
    assert finding.fixes[0].command.endswith("-m pip install 'numpy<2'")


def test_other_outcomes() -> None:
    assert outcome(supposed(stated("torch", "2.2.2")), "numpy2-abi-mismatch") is OutcomeKind.NOT_APPLICABLE
    assert outcome(supposed(stated("torch", "2.2.2"), stated("numpy", "1.26.4")), "numpy2-abi-mismatch") is OutcomeKind.PASSED
    assert outcome(supposed(stated("torch", "2.8.0"), stated("numpy", "2.0.2")), "numpy2-abi-mismatch") is OutcomeKind.PASSED


def test_a_framework_is_not_blamed_for_the_build_of_another() -> None:
    findings = found(supposed(stated("tensorflow", "2.17.0"), stated("torch", "2.8.0"), stated("numpy", "2.0.2")))
    blamed = [finding for finding in findings if finding.name == "numpy2-abi-mismatch"]
    assert [(finding.subject.key, finding.message.partition(" is compiled")[0]) for finding in blamed] == [
        ("tensorflow", "tensorflow 2.17.0")
    ]
