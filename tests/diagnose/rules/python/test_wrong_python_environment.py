from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Confidence, Level, OutcomeKind, Severity
from gpudoctor.snapshot import Distribution, Python
from tests.builders import machine
from tests.diagnose.rules.packaged import found, outcome

ELSEWHERE = (Distribution("torch", "2.6.0", "/home/venv/lib/python3.11/site-packages"),)


@pytest.mark.parametrize(
    ("policy", "severity"),
    [
        ({"level": Level.LOOK}, Severity.NOTE),
        ({"level": Level.TRAIN}, Severity.WARNING),
        ({"level": Level.LOOK, "require": ("torch",)}, Severity.ERROR),
        ({"level": Level.TRAIN, "require": ("tensorflow",)}, Severity.WARNING),
    ],
)
def test_a_framework_in_another_environment_explains_that_none_is_here(policy: dict[str, Any], severity: Severity) -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "the first python3 on PATH", elsewhere=ELSEWHERE))
    findings = found(empty, **policy)
    (finding,) = (one for one in findings if one.name == "wrong-python-environment")
    assert (finding.severity, finding.confidence) == (severity, Confidence.LIKELY)
    assert finding.fixes[0].command == 'export PATH=/home/venv/bin:"$PATH"'
    if severity is not Severity.WARNING or "require" not in policy:
        assert all(one.because_of == (finding.id,) for one in findings if one.name == "framework-missing")


def test_no_other_environment_is_no_wrong_one() -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "named", elsewhere=()))
    assert outcome(empty, "wrong-python-environment") is OutcomeKind.PASSED
    assert outcome(machine(1, frameworks=()), "wrong-python-environment") is OutcomeKind.NOT_ASKED
    assert outcome(machine(1), "wrong-python-environment") is OutcomeKind.PASSED
