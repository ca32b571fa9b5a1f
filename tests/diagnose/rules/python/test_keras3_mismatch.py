from __future__ import annotations

from gpudoctor.findings import Level, OutcomeKind, Severity
from gpudoctor.snapshot import Distribution
from tests.diagnose.rules.packaged import found, live, outcome, stated, supposed


def test_keras_2_beside_tf_keras_is_milder() -> None:
    wants = Distribution("tensorflow", "2.18.0", "/site", requires=("keras>=3.5",))
    keras, legacy = Distribution("keras", "2.15.0", "/site"), Distribution("tf-keras", "2.18.0", "/site")
    assert [finding.severity for finding in found(live(wants, keras), level=Level.LOOK)] == [Severity.ERROR]
    assert [finding.severity for finding in found(live(wants, keras, legacy), level=Level.LOOK)] == [Severity.WARNING]


def test_without_keras_it_does_not_apply() -> None:
    assert outcome(supposed(stated("tensorflow", "2.17.0")), "keras3-mismatch") is OutcomeKind.NOT_APPLICABLE
    fitting = supposed(stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "3.5.0"))
    assert outcome(fitting, "keras3-mismatch") is OutcomeKind.PASSED
